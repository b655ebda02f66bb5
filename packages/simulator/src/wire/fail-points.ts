import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, numberOf, requiredText } from '../node/doc-fields.js';
import { errorName } from '../node/error-name.js';
import { FailCommand } from './fail-command.js';
import { FailPoint } from './fail-point.js';

/** Fail points of this cluster's nodes besides `failCommand`, by the server's names. */
const otherPoints = {
  /** Keeps the orphans of chunk migrations where they are. */
  suspendRangeDeletion: ['shard'],
  /** Commits of transactions hang, those of prepared ones on one participant too. */
  hangBeforeCommitingTxn: ['shard', 'config', 'replicaSet'],
  /** Index builds hang before they read a document. */
  hangAfterInitializingIndexBuild: ['shard', 'replicaSet'],
  /** Every command with a time limit fails as if it had expired. */
  maxTimeAlwaysTimeOut: ['router', 'shard', 'config', 'replicaSet'],
  /** A `getMore` that has found its cursor fails with `errorCode` and closes the cursor. */
  failGetMoreAfterCursorCheckout: ['router', 'shard', 'config', 'replicaSet'],
} as const;

/** Prefix of the server parameters that show fail points. */
const parameterPrefix = 'failpoint.';
/** Longest wait of a `waitForFailPoint` without `maxTimeMS`. */
const waitMsMax = 3_600_000;
/** The failure of a point without `errorCode`. */
const internalError = 1;

/** The fail points of one node. A restart of its process turns all of them off: `clear`. */
export class FailPoints {
  readonly failCommand = new FailCommand();
  readonly #points: ReadonlyMap<string, FailPoint>;

  /** @param enabled false for a node without test commands (`enableTestCommands`) */
  constructor(
    kind: 'router' | 'shard' | 'config' | 'replicaSet',
    readonly enabled = true,
  ) {
    const names = Object.entries(otherPoints).filter(([, kinds]) => (kinds as readonly string[]).includes(kind));
    this.#points = new Map([
      ['failCommand', this.failCommand.point],
      ...names.map(([name]) => [name, new FailPoint()] as const),
    ]);
  }

  /** True while a point of this name is set. */
  active(name: string): boolean {
    return this.#points.get(name)?.active === true;
  }

  get(name: string): FailPoint | undefined {
    return this.#points.get(name);
  }

  /** A command of a client, with the effects of fail points in its middle. */
  prepared(request: CommandRequest): CommandRequest {
    if (request.name !== 'getMore' || !this.active('failGetMoreAfterCursorCheckout')) return request;
    return { ...request, onCursorCheckout: () => this.#failGetMore(request) };
  }

  /** Turns all points off, as the end of a process does. */
  clear(): void {
    for (const point of this.#points.values()) point.configure(doc(['mode', 'off']));
  }

  /**
   * Answers `configureFailPoint`, `waitForFailPoint` and `getParameter` of `failpoint.<name>`. Undefined for all other
   * commands.
   * @throws CommandError 13 outside of the database admin; 266 for an unknown point; 59 without test commands
   */
  answer(request: CommandRequest): Doc | Promise<Doc> | undefined {
    const { name, body } = request;
    if (name === 'getParameter') return this.#shown(body);
    if (name !== 'configureFailPoint' && name !== 'waitForFailPoint') return undefined;
    if (!this.enabled) throw new CommandError(59, 'CommandNotFound', `no such command: '${name}'`);
    if (request.db !== 'admin')
      throw new CommandError(13, 'Unauthorized', `${name} may only be run against the admin database.`);
    const wanted = requiredText(body, name);
    const point = this.#points.get(wanted);
    if (point === undefined) throw new CommandError(266, 'FailPointSetFailed', `${wanted} not found`);
    if (name === 'configureFailPoint') return point.configure(body);
    const times = numberOf(body.get('timesEntered')) ?? 0;
    return point.entered(times, numberOf(body.get('maxTimeMS')) ?? waitMsMax).then(() => new Map());
  }

  #failGetMore(request: CommandRequest): void {
    const data = this.get('failGetMoreAfterCursorCheckout')?.enter((set) =>
      this.failCommand.concerns(new Map(set).set('failCommands', ['getMore']), request),
    );
    if (data === undefined) return;
    const code = numberOf(data.get('errorCode')) ?? internalError;
    throw new CommandError(code, errorName(code), "Hit the 'failGetMoreAfterCursorCheckout' failpoint");
  }

  #shown(body: Doc): Doc | undefined {
    const asked = [...body.keys()].filter((field) => field.startsWith(parameterPrefix));
    const found = asked.flatMap((field): [string, Doc][] => {
      const point = this.#points.get(field.slice(parameterPrefix.length));
      return point === undefined ? [] : [[field, point.shown]];
    });
    return found.length === 0 ? undefined : new Map(found);
  }
}
