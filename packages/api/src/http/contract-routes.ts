import { Readable } from 'node:stream';
import fp from 'fastify-plugin';
import type { FastifyInstance } from 'fastify';
import { commandNames } from '../contract/commands.js';
import type { InventoryReply } from '../contract/inventory.js';
import { inventoryRequest } from '../contract/inventory-request.js';
import { type Mismatch, parseMismatchQuery } from '../contract/mismatch.js';
import type { ProgressReply, SuccessReply } from '../contract/reply.js';
import type { ContractService } from './contract-service.js';
import { useFailureReplies } from './failure-replies.js';
import type { ProgressScope } from './json-schema.js';
import { commandPath, INVENTORY_PATH, LINES_TYPE, MISMATCHES_PATH, OPENAPI_PATH, PROGRESS_PATH } from './operations.js';
import { openApiDocument } from './openapi.js';
import { acceptCommand } from './accept-command.js';
import { ConvoyError } from '../errors/convoy-error.js';

/** Default maximum size of a body: far above any filter, typed or generated. */
const BODY_BYTES_MAX_DEFAULT = 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * A body's JSON value; an empty body counts as `{}`, since commands have no options.
 * @throws ConvoyError `invalidJson`
 */
function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    const text = utf8.decode(bytes).trim();
    return text === '' ? {} : (JSON.parse(text) as unknown);
  } catch (cause) {
    throw new ConvoyError('invalidJson', undefined, { cause });
  }
}

/** Parses every body as JSON whatever its Content-Type, up to a number of bytes. */
function useJsonBodies(app: FastifyInstance, bodyBytesMax: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (_request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as ConvoyError);
    }
  });
  // Fastify rejects a malformed Content-Type before it calls the parser.
  app.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done();
  });
}

/** Options of `contractRoutes`. */
export interface ContractRoutesOptions {
  /** The service behind the paths. */
  readonly service: ContractService;
  /** Maximum size of a body in bytes; 1 MiB when left out. */
  readonly bodyBytesMax?: number;
  /** Scope of the OpenAPI document; one instance when left out. */
  readonly scope?: ProgressScope;
}

function serveContract(app: FastifyInstance, options: ContractRoutesOptions): void {
  const { service } = options;
  for (const command of commandNames) {
    app.post(commandPath(command), async (request): Promise<SuccessReply> => {
      const { waitingFor = [] } = await acceptCommand(service, command, request.body);
      return { success: true, ...(waitingFor.length > 0 && { waitingFor: [...waitingFor] }) };
    });
  }
  app.get(PROGRESS_PATH, async (_request, reply): Promise<ProgressReply> => {
    void reply.header('cache-control', 'no-store');
    return { success: true, progress: await service.progress() };
  });
  app.get(MISMATCHES_PATH, async (request, reply) => {
    const lines = await started(linesOf(service.mismatches(parseMismatchQuery(request.query))));
    void reply.header('cache-control', 'no-store').type(LINES_TYPE);
    return reply.send(Readable.from(lines));
  });
  app.get(INVENTORY_PATH, async (request, reply): Promise<InventoryReply> => {
    void reply.header('cache-control', 'no-store');
    return { success: true, inventory: await service.inventory(inventoryRequest(request.query)) };
  });
  const document = openApiDocument(options.scope ?? 'instance');
  app.get(OPENAPI_PATH, () => document);
}

async function* linesOf(mismatches: AsyncIterable<Mismatch>): AsyncGenerator<string> {
  for await (const mismatch of mismatches) yield `${JSON.stringify(mismatch)}\n`;
}

/** Waits for the first line, so that an earlier failure gets a failure reply. */
async function started(lines: AsyncGenerator<string>): Promise<AsyncIterable<string>> {
  const first = await lines.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* lines;
  })();
}

/**
 * A Fastify plugin that serves the contract for any service: five commands, progress and the OpenAPI document. It sets
 * the whole server's body parser and failure replies, so register it once and before other routes.
 */
export const contractRoutes = fp<ContractRoutesOptions>(
  (app, options, done) => {
    useJsonBodies(app, options.bodyBytesMax ?? BODY_BYTES_MAX_DEFAULT);
    useFailureReplies(app);
    serveContract(app, options);
    done();
  },
  { name: 'convoy-contract-routes', fastify: '5.x' },
);
