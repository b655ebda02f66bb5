import type { z } from 'zod';

/** The value of a JSON text; null when it is no JSON, or not of the schema. */
export function parsed<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
