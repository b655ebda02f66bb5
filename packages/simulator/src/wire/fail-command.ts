import { Int32 } from 'bson';
import { setTimeout as delay } from 'node:timers/promises';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { errorName } from '../node/error-name.js';
import { isTrue, numberOf, textOrEmpty } from '../node/doc-fields.js';

/** Tells the connection layer to cut the connection instead of answering. */
export class ConnectionClosedByFailPoint extends Error {
  constructor() {
    super('connection closed by fail point');
    this.name = 'ConnectionClosedByFailPoint';
  }
}

/** Commands the `failCommand` fail point never touches, as on the real server. */
const exempt: ReadonlySet<string> = new Set(['configureFailPoint', 'hello', 'isMaster', 'ismaster', 'ping']);

/** One setting of the `failCommand` fail point (test commands of the server): which commands fail, how and how often. */
export class FailCommand {
  #left = 0;
  #skip = 0;
  #data: Doc = new Map();
  #entered = 0;

  /**
   * Takes `configureFailPoint: "failCommand"`: `mode` `alwaysOn`, `off`, `{times: n}` or `{skip: n}`.
   * @returns the reply: how often the point was entered so far
   */
  configure(body: Doc): Doc {
    const mode = body.get('mode');
    const data = body.get('data');
    this.#skip = 0;
    this.#left = 0;
    if (mode === 'alwaysOn') this.#left = Infinity;
    if (mode instanceof Map) {
      this.#skip = numberOf(mode.get('skip')) ?? 0;
      this.#left = mode.has('skip') ? Infinity : (numberOf(mode.get('times')) ?? 0);
    }
    if (data instanceof Map) this.#data = data;
    return new Map<string, Value>([['count', new Int32(this.#entered)]]);
  }

  /**
   * Runs a command under the fail point.
   * @throws CommandError as set by `errorCode`; ConnectionClosedByFailPoint for `closeConnection`
   */
  async apply(request: CommandRequest, run: () => Promise<Doc>): Promise<Doc> {
    if (this.#left <= 0 || !this.#concerns(request)) return run();
    if (this.#skip > 0) {
      this.#skip -= 1;
      return run();
    }
    this.#left -= 1;
    this.#entered += 1;
    const data = this.#data;
    if (isTrue(data.get('blockConnection'))) await delay(numberOf(data.get('blockTimeMS')) ?? 0, undefined, { signal: request.signal });
    if (isTrue(data.get('closeConnection'))) throw new ConnectionClosedByFailPoint();
    const code = numberOf(data.get('errorCode'));
    if (code !== undefined) throw this.#failure(code, request.name);
    const reply = await run();
    const writeConcernError = data.get('writeConcernError');
    if (writeConcernError !== undefined) reply.set('writeConcernError', writeConcernError);
    return reply;
  }

  #concerns(request: CommandRequest): boolean {
    if (exempt.has(request.name)) return false;
    const names = this.#data.get('failCommands');
    const namespace = this.#data.get('namespace');
    if (!Array.isArray(names) || !names.includes(request.name)) return false;
    return typeof namespace !== 'string' || namespace === `${request.db}.${textOrEmpty(request.body.get(request.name))}`;
  }

  #failure(code: number, command: string): CommandError {
    const labels = this.#data.get('errorLabels');
    const names = Array.isArray(labels) ? labels.filter((label) => typeof label === 'string') : [];
    return new CommandError(code, errorName(code), `Failing command via 'failCommand' failpoint: ${command}`, names);
  }
}
