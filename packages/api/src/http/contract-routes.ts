import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { type CommandName, commandNames, parseCommandBody } from '../contract/commands.js';
import type { Inventory, InventoryReply } from '../contract/inventory.js';
import { inventoryRequest } from '../contract/inventory-request.js';
import { type Mismatch, type MismatchQuery, parseMismatchQuery } from '../contract/mismatch.js';
import { parseStartRequest } from '../contract/parse-start-request.js';
import type { Progress } from '../contract/progress.js';
import type { ProgressReply, SuccessReply } from '../contract/reply.js';
import type { StartRequest } from '../contract/start-request.js';
import { ConvoyError } from '../errors/convoy-error.js';
import { useFailureReplies } from './failure-replies.js';
import type { ProgressScope } from './json-schema.js';
import { openApiDocument } from './openapi.js';
import { commandPath, INVENTORY_PATH, LINES_TYPE, MISMATCHES_PATH, OPENAPI_PATH, PROGRESS_PATH } from './operations.js';

/** An accepted command. */
export interface Acceptance {
  /**
   * The command is recorded for the whole fleet; these instances have not taken it yet and will by themselves. Absent
   * for a command that is not recorded for others.
   */
  readonly waitingFor?: readonly string[];
}

/**
 * The service behind the contract's paths: one instance or a fleet.
 * A command resolves once it is accepted and durably recorded, not once it is carried out. Methods reject with a
 * ConvoyError, which becomes the failure body; anything else becomes `internalError`.
 * A `commandId` says that the command is for the whole fleet; one for this instance alone has none.
 */
export interface ContractService<Report extends Progress = Progress> {
  /** @throws ConvoyError `notInThisState` outside IDLE, `optionsDiffer`, or a start condition of the clusters */
  start(request: StartRequest, commandId?: string): Promise<Acceptance>;
  /** @throws ConvoyError `notInThisState` outside RUNNING */
  pause(commandId?: string): Promise<Acceptance>;
  /** @throws ConvoyError `notInThisState` outside PAUSED */
  resume(commandId?: string): Promise<Acceptance>;
  /**
   * @param awaited_ms how long the sender still waits: later the commit must not be taken
   * @throws ConvoyError `notInThisState` outside RUNNING, `cannotCommit` while `canCommit` is false, `commandTimedOut`
   */
  commit(commandId?: string, awaited_ms?: number): Promise<Acceptance>;
  /** @throws ConvoyError `notInThisState` outside COMMITTED, `notReversible` */
  reverse(commandId?: string): Promise<Acceptance>;
  /** The last known values, without waiting for a cluster. Rejects with the cause once the migration has failed. */
  progress(): Promise<Report>;
  /**
   * What both clusters have besides data, as they are now.
   * @param request the options of a start, as long as none is recorded
   * @throws ConvoyError why the clusters cannot be read
   */
  inventory(request: StartRequest): Promise<Inventory>;
  /** Mismatches that the embedded verifier found, also once the migration has failed. */
  mismatches(query: MismatchQuery): AsyncIterable<Mismatch>;
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

/** Default maximum size of a body: far above any filter, typed or generated. */
const BODY_BYTES_MAX_DEFAULT = 1024 * 1024;

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

/**
 * Checks a command's name and body and passes it to the service, whether it came over HTTP or through Redis.
 * @param body parsed JSON; undefined and null count as `{}`
 * @param commandId id of a command for the whole fleet; undefined for one to this instance alone
 * @param awaited_ms of a commit: how long its sender still waits
 * @throws ConvoyError `invalidRequest` for an unknown name or an invalid body, or what the service throws
 */
export async function acceptCommand(
  service: Pick<ContractService, CommandName>,
  name: CommandName,
  body: unknown,
  commandId?: string,
  awaited_ms?: number,
): Promise<Acceptance> {
  if (!commandNames.includes(name)) throw new ConvoyError('invalidRequest', 'name: is not a command');
  if (name === 'start') return service.start(parseStartRequest(body ?? {}), commandId);
  parseCommandBody(body ?? {});
  return name === 'commit' ? service.commit(commandId, awaited_ms) : service[name](commandId);
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
