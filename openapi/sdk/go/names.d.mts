export declare const exportedName: (name: string) => string;
export declare const variableName: (name: string) => string;
