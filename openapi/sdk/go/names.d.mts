export declare const exportedName: (name: string) => string;
