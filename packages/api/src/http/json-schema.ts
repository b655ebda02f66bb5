import { z } from 'zod';
import { commandBodySchema } from '../contract/commands.js';
import { namespaceSelectorSchema, patternSchema } from '../contract/filter.js';
import { fleetInstanceSchema, fleetProgressSchema, instancesReplySchema } from '../contract/fleet-progress.js';
import { mismatchSchema } from '../contract/mismatch.js';
import { progressSchema, verificationSideSchema, warningSchema } from '../contract/progress.js';
import { failureReplySchema, successReplySchema } from '../contract/reply.js';
import { shardingSchema } from '../contract/sharding.js';
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

/** Whose progress is described: one instance's or the fleet's. */
export type ProgressScope = 'instance' | 'fleet';

/** The schemas of request bodies, where a field with a default may be left out. */
const requestSchemas = {
  StartRequest: startRequestSchema,
  NamespaceSelector: namespaceSelectorSchema,
  Pattern: patternSchema,
  Sharding: shardingSchema,
  VerificationOptions: verificationSchema,
  CommandBody: commandBodySchema,
};

/** What coordinators show beside the contract. */
const watchingSchemas = {
  HistoryReply: historyReplySchema,
  NamespacesReply: namespacesReplySchema,
  PreflightReply: preflightReplySchema,
  CommandsReply: commandsReplySchema,
  AccessReply: accessReplySchema,
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
    ...(scope === 'fleet' ? { FleetInstance: fleetInstanceSchema, InstancesReply: instancesReplySchema } : {}),
    ...(scope === 'fleet'
      ? { FleetInstance: fleetInstanceSchema, InstancesReply: instancesReplySchema, ...watchingSchemas }
      : {}),
  };
}

/** Generates the schemas by name, with references among them as an OpenAPI document writes them. */
function generate(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const generated = z.toJSONSchema(registry, { io, uri: (id) => `#/components/schemas/${id}` }).schemas;
  return Object.fromEntries(Object.entries(generated).map(([id, schema]) => [id, withoutAddress(schema)]));
}

/** The address is the place in the document already, and the draft is OpenAPI 3.1's own. */
function withoutAddress(schema: object): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$id' && name !== '$schema'));
}

/** The bodies of the contract as JSON Schemas by name, generated from the schemas that read them. */
export function contractJsonSchemas(scope: ProgressScope): Record<string, JsonSchema> {
  return {
    ...generate(requestSchemas, 'input'),
    ...generate(replySchemas(scope), 'output'),
    OpenApiDocument: { type: 'object', description: 'An OpenAPI 3.1 document.' },
    Text: { type: 'string' },
  };
}
