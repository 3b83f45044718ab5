import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';

interface Content {
  content: { 'application/json': { schema: { $ref: string }; examples?: Record<string, unknown> } };
}

interface Operation {
  operationId: string;
  requestBody: Content;
  responses: Record<string, Content & { headers: Record<string, unknown> }>;
}

export const document: {
  paths: Record<string, { post: Operation }>;
  components: { headers: Record<string, { required?: boolean }> };
};
export const ajv: Ajv2020;
/** @throws Error where the document has no such schema */
export function validatorOf(ref: string): ValidateFunction;
