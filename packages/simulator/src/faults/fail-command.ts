import { setTimeout as delay } from 'node:timers/promises';
import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest, type ConnectionState } from '../node/command.js';
import { docOf, numberOf, textOrEmpty } from '../node/doc-fields.js';
import { commandName, handshakes } from '../node/command-names.js';
import { errorName } from '../node/error-name.js';
import { FailPoint } from './fail-point.js';

/** Makes the connection layer cut the connection instead of answering. */
export class ConnectionClosedByFailPoint extends Error {
  constructor() {
    super('connection closed by fail point');
    this.name = 'ConnectionClosedByFailPoint';
  }
}

/** A failure with labels of the fail point: the node adds none of its own. */
export class LabelledFailure extends CommandError {}

const failureText = `Failing command via 'failCommand' failpoint`;

/**
 * The `failCommand` fail point (server wiki, "The failCommand fail point"): which commands fail, how and how often.
 * Data: `failCommands`, `namespace` and `appName` choose the commands of clients. Those of other nodes pass.
 * `errorCode`, `errorLabels`, `closeConnection`, `blockConnection` with `blockTimeMS`, `writeConcernError` decide the
 * effect.
 */
export class FailCommand {
  readonly #appNames = new WeakMap<ConnectionState, string>();

  constructor(readonly point: FailPoint = new FailPoint()) {}

  /**
   * Runs a command under the fail point.
   * @throws CommandError as set by `errorCode`; ConnectionClosedByFailPoint for `closeConnection`
   */
  async apply(request: CommandRequest, run: () => Promise<Doc>): Promise<Doc> {
    if (handshakes.has(request.name)) this.#noteClient(request);
    if (!this.point.active || request.name === 'configureFailPoint') return run();
    const data = this.point.enter((set) => this.#concerns(set, request) && interferes(set));
    if (data !== undefined) await interfere(data, request);
    const reply = await run();
    const reported = this.point.enter((set) => set.has('writeConcernError') && this.#concerns(set, request));
    if (reported !== undefined) addConcernError(reply, reported);
    return reply;
  }

  #noteClient({ body, connection }: CommandRequest): void {
    const name = docOf(docOf(body.get('client'))?.get('application'))?.get('name');
    if (typeof name === 'string') this.#appNames.set(connection, name);
  }

  /** Whether the data of a fail point selects a command. */
  #concerns(data: Doc, request: CommandRequest): boolean {
    const appName = data.get('appName');
    if (appName !== undefined && appName !== (this.#appNames.get(request.connection) ?? '')) return false;
    const namespace = data.get('namespace');
    if (namespace !== undefined && namespace !== namespaceOf(request)) return false;
    const names = data.get('failCommands');
    return (
      Array.isArray(names) &&
      names.some((name) => typeof name === 'string' && canonical(name) === canonical(request.name))
    );
  }
}

/** Handshakes keep the name that the client sent, since their replies differ. */
function canonical(name: string): string {
  return name === 'ismaster' ? 'isMaster' : commandName(name);
}

/** The namespace of a command. `getMore` names its collection in a field of its own. */
function namespaceOf({ db, name, body }: CommandRequest): string {
  const collection = textOrEmpty(body.get(name === 'getMore' ? 'collection' : name));
  return collection === '' ? db : `${db}.${collection}`;
}

function interferes(data: Doc): boolean {
  return (
    data.get('closeConnection') === true ||
    data.get('blockConnection') === true ||
    numberOf(data.get('errorCode')) !== undefined
  );
}

async function interfere(data: Doc, request: CommandRequest): Promise<void> {
  if (data.get('blockConnection') === true) await delay(blockMs(data), undefined, { signal: request.signal });
  if (data.get('closeConnection') === true) throw new ConnectionClosedByFailPoint();
  const code = numberOf(data.get('errorCode'));
  if (code === undefined) return;
  const labels = data.get('errorLabels');
  if (!Array.isArray(labels)) throw new CommandError(code, errorName(code), failureText);
  throw new LabelledFailure(
    code,
    errorName(code),
    failureText,
    labels.filter((label) => typeof label === 'string'),
  );
}

function blockMs(data: Doc): number {
  const blockTimeMs = numberOf(data.get('blockTimeMS'));
  if (blockTimeMs === undefined)
    throw new CommandError(72, 'InvalidOptions', `must specify 'blockTimeMS' when 'blockConnection' is true`);
  if (blockTimeMs < 0) throw new CommandError(72, 'InvalidOptions', `'blockTimeMS' must be non-negative`);
  return blockTimeMs;
}

/** The write has happened. Only its write concern is reported as unmet. */
function addConcernError(reply: Doc, data: Doc): void {
  reply.set('writeConcernError', data.get('writeConcernError') ?? null);
  const labels = data.get('errorLabels');
  if (Array.isArray(labels)) reply.set('errorLabels', labels);
}
