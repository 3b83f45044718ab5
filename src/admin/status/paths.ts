/** The paths of the page, its data, its style sheet and its icon on the metrics' port. */
export const STATUS_PATHS = {
  page: '/admin',
  json: '/admin.json',
  styles: '/admin.css',
  icon: '/favicon.ico',
} as const;
