import { z } from 'zod';
import { commandBodySchema } from '../contract/commands.js';
import { namespaceSelectorSchema, patternSchema } from '../contract/filter.js';
import { fleetInstanceSchema, fleetProgressSchema, instancesReplySchema } from '../contract/fleet-progress.js';
import { inventoryReplySchema } from '../contract/inventory.js';
import { reportReplySchema } from '../contract/migration-report.js';
import { logsReplySchema } from '../contract/log-record.js';
import { mismatchSchema } from '../contract/mismatch.js';
import { progressSchema, verificationSideSchema, warningSchema } from '../contract/progress.js';
import { failureReplySchema, successReplySchema } from '../contract/reply.js';
import { shardingSchema } from '../contract/sharding.js';
import { checkReplySchema, sourceReplySchema } from '../contract/start-guide.js';
import { startRequestSchema } from '../contract/start-request.js';
import {
  accessReplySchema,
  commandsReplySchema,
  historyReplySchema,
  namespacesReplySchema,
  preflightReplySchema,
} from '../contract/watching.js';
import { verificationSchema } from '../contract/verification.js';

/** A JSON Schema (draft 2020-12) as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Scope of the description: one instance or the fleet. */
export type ProgressScope = 'instance' | 'fleet';

/** Schemas of request bodies; fields with defaults are optional. */
const requestSchemas = {
  StartRequest: startRequestSchema,
  NamespaceSelector: namespaceSelectorSchema,
  Pattern: patternSchema,
  Sharding: shardingSchema,
  VerificationOptions: verificationSchema,
  CommandBody: commandBodySchema,
};

/** Replies that only coordinators serve. */
const watchingSchemas = {
  HistoryReply: historyReplySchema,
  NamespacesReply: namespacesReplySchema,
  PreflightReply: preflightReplySchema,
  CommandsReply: commandsReplySchema,
  AccessReply: accessReplySchema,
  ReportReply: reportReplySchema,
  SourceReply: sourceReplySchema,
  CheckReply: checkReplySchema,
  LogsReply: logsReplySchema,
};

function replySchemas(scope: ProgressScope): Record<string, z.ZodType> {
  const progress = scope === 'fleet' ? fleetProgressSchema : progressSchema;
  return {
    SuccessReply: successReplySchema,
    FailureReply: failureReplySchema,
    ProgressReply: z.object({ success: z.literal(true), progress }),
    Progress: progress,
    VerificationSide: verificationSideSchema,
    Warning: warningSchema,
    Mismatch: mismatchSchema,
    InventoryReply: inventoryReplySchema,
    ...(scope === 'fleet'
      ? { FleetInstance: fleetInstanceSchema, InstancesReply: instancesReplySchema, ...watchingSchemas }
      : {}),
  };
}

/** Generates the schemas by name, with OpenAPI references among them. */
function generate(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const generated = z.toJSONSchema(registry, { io, uri: (id) => `#/components/schemas/${id}` }).schemas;
  return Object.fromEntries(Object.entries(generated).map(([id, schema]) => [id, withoutAddress(schema)]));
}

/** Drops `$id`, which the place in the document implies, and `$schema`, which is OpenAPI 3.1's own draft. */
function withoutAddress(schema: object): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$id' && name !== '$schema'));
}

/** JSON Schemas of the contract's bodies by name, generated from the schemas that validate them. */
export function contractJsonSchemas(scope: ProgressScope): Record<string, JsonSchema> {
  return {
    ...generate(requestSchemas, 'input'),
    ...generate(replySchemas(scope), 'output'),
    OpenApiDocument: { type: 'object', description: 'An OpenAPI 3.1 document.' },
    Text: { type: 'string' },
  };
}
