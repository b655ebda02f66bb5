import { z } from 'zod';
import { commandBodySchema } from '../contract/commands.js';
import { fleetProgressSchema } from '../contract/fleet-progress.js';
import { progressSchema } from '../contract/progress.js';
import { failureReplySchema, successReplySchema } from '../contract/reply.js';
import { startRequestSchema } from '../contract/start-request.js';

/** A JSON Schema (draft 2020-12) as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Whose progress is described: one instance's or the fleet's. */
export type ProgressScope = 'instance' | 'fleet';

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, { io, reused: 'inline', unrepresentable: 'throw' });
}

/** The bodies of the contract as JSON Schemas, generated from the schemas that read them. */
export function contractJsonSchemas(scope: ProgressScope): Record<string, JsonSchema> {
  const progress = scope === 'fleet' ? fleetProgressSchema : progressSchema;
  return {
    StartRequest: toJsonSchema(startRequestSchema, 'input'),
    CommandBody: toJsonSchema(commandBodySchema, 'input'),
    SuccessReply: toJsonSchema(successReplySchema, 'output'),
    FailureReply: toJsonSchema(failureReplySchema, 'output'),
    ProgressReply: toJsonSchema(z.object({ success: z.literal(true), progress }), 'output'),
    OpenApiDocument: { type: 'object', description: 'An OpenAPI 3.1 document.' },
  };
}
