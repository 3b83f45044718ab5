/** The paths of the page, its data and its style sheet on the metrics' port. */
export const STATUS_PATHS = { page: '/admin', json: '/admin.json', styles: '/admin.css' } as const;
