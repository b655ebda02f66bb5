import { Binary, Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import { isInternalDatabase } from '../../node/user-write-block.js';
import type { FailPoint } from '../../faults/fail-point.js';
import { waitWithin } from '../command-limits.js';
import type { Interruption } from '../interruption.js';
import type { Collection } from '../storage/collection.js';
import { splitNamespace } from '../../node/namespace.js';
import { makeUuid, uuidText } from '../../bson/uuid.js';

/** Indexes of one command that are being built. */
export interface RunningBuild {
  readonly namespace: string;
  /** Counts the builds of this member. */
  readonly number: number;
  readonly uuid: Binary;
  readonly specs: readonly Doc[];
  /** Resolves when the build has succeeded or failed. */
  readonly ended: Promise<unknown>;
  abort(reason: string): void;
}

type Built = Pick<Collection, 'uuid'>;

/** What a client sent, as far as it is shown. */
function commandOf(namespace: string, specs: readonly Doc[]): Doc {
  const { db, collection } = splitNamespace(namespace);
  return doc(['createIndexes', collection], ['indexes', [...specs]], ['$db', db]);
}

/** Without the version, which a client need not send. */
const asSent = (spec: Doc): Doc => new Map([...spec].filter(([name]) => name !== 'v'));

const flag = (name: string): [string, Value] => [name, false];

/** Index builds that hang at their fail point. All others end at once. */
export class RunningBuilds {
  /** Fail point of hanging builds (`hangAfterInitializingIndexBuild`). Null where there are no fail points. */
  point: FailPoint | null = null;
  readonly #running = new Map<string, RunningBuild[]>();
  #ended = new AbortController();
  #count = 0;

  constructor(private readonly interruption: Interruption) {}

  /** Ends the builds of users' databases. */
  abort(): void {
    this.#ended.abort();
    this.#ended = new AbortController();
  }

  /** The builds of a collection, in the order of their beginning. */
  of({ uuid }: Built): readonly RunningBuild[] {
    return this.#running.get(uuid.toString('hex')) ?? [];
  }

  /**
   * The threads that build, as `$currentOp` of 8.0.10 shows them, or that of 5.0.7.
   * @param isNewer whether as on 8.0.10; on 5.0.7 the namespace is empty, and less is shown
   */
  shown(host: string, time: string, isNewer: boolean): Doc[] {
    return [...this.#running.values()]
      .flat()
      .map(({ namespace, number, specs }) =>
        doc(
          ['type', 'op'],
          ['host', host],
          ['desc', `IndexBuildsCoordinatorMongod-${number}`],
          ['active', false],
          ['currentOpTime', time],
          ...(isNewer ? [flag('isFromUserConnection')] : []),
          ['opid', new Int32(1_000 + number)],
          ['op', 'command'],
          ['ns', isNewer ? namespace : ''],
          ...(isNewer ? [flag('redacted')] : []),
          ['command', commandOf(namespace, isNewer ? specs : specs.map(asSent))],
        ),
      );
  }

  /** Whether an index of the collection is not built at once. */
  concern(collection: Built): boolean {
    return this.point?.active === true || this.of(collection).length > 0;
  }

  /** A missing collection is not created before its indexes. @throws CommandError 276 for an aborted build */
  async pass({ db, signal }: CommandRequest): Promise<void> {
    if (this.point?.active !== true) return;
    const ended = this.#endOf(db);
    await this.point.held(AbortSignal.any([ended, signal]));
    if (ended.aborted) throw aborted('User write blocking');
  }

  /**
   * Begins a build, which goes on without its client, and when the node steps down.
   * @param finish adds the indexes
   * @throws CommandError as `finish`; 276 when it is aborted
   */
  async run(collection: Collection, specs: readonly Doc[], request: CommandRequest, finish: () => Doc): Promise<Doc> {
    const dropped = new AbortController();
    const end = AbortSignal.any([this.#endOf(request.db), dropped.signal]);
    const held = this.point?.held(end) ?? Promise.resolve();
    const ended = held.then(() => {
      this.#remove(collection, build);
      const reason = dropped.signal.aborted ? String(dropped.signal.reason) : 'User write blocking';
      if (end.aborted) throw failed(build, collection, reason);
      return finish();
    });
    const { namespace } = collection;
    this.#count += 1;
    const abort = (reason: string): void => dropped.abort(reason);
    const build = { namespace, number: this.#count, uuid: makeUuid(), specs, ended, abort };
    this.#running.set(collection.uuid.toString('hex'), [...this.of(collection), build]);
    await this.#wait(ended, request);
    return ended;
  }

  /** Waits for the end of a build that another command has begun. */
  async untilEnded({ ended }: RunningBuild, request: CommandRequest): Promise<void> {
    await this.#wait(
      ended.catch(() => undefined),
      request,
    );
  }

  /** Ends the builds of exactly these indexes, or all. @returns whether there were any */
  async drop(collection: Built, names: readonly Value[] | '*', reason: string): Promise<boolean> {
    const meant = this.of(collection).filter(({ specs }) => names === '*' || specs.every((spec) => isOf(spec, names)));
    for (const build of meant) {
      build.abort(reason);
      await build.ended.catch(() => undefined);
    }
    return meant.length > 0;
  }

  /** Ends the builds of a collection that is dropped. */
  forget(collection: Built): void {
    for (const build of this.of(collection)) build.abort('collection dropped');
  }

  /** @throws CommandError 12587 while an index of the collection is being built */
  refuseOther(collection: Built): void {
    const [first] = this.of(collection);
    if (first === undefined) return;
    throw new CommandError(
      12587,
      'BackgroundOperationInProgressForNamespace',
      `cannot perform operation: an index build is currently running for collection with UUID: ` +
        `${uuidText(collection.uuid.buffer)}. Found index build: ${uuidText(first.uuid.buffer)}`,
    );
  }

  async #wait(ended: Promise<unknown>, { body, signal }: CommandRequest): Promise<void> {
    const { count, next } = this.interruption;
    const interrupted = new Promise<void>((resolve) => next.addEventListener('abort', () => resolve(), { once: true }));
    ended.catch(() => undefined);
    await waitWithin(Promise.race([ended, interrupted]), body, signal);
    this.interruption.refuseSince(count);
  }

  #endOf(db: string): AbortSignal {
    return isInternalDatabase(db) ? new AbortController().signal : this.#ended.signal;
  }

  #remove(collection: Built, build: RunningBuild): void {
    const key = collection.uuid.toString('hex');
    const others = this.of(collection).filter((one) => one !== build);
    if (others.length > 0) this.#running.set(key, others);
    else this.#running.delete(key);
  }
}

function isOf(spec: Doc, names: readonly Value[]): boolean {
  return names.includes(spec.get('name') ?? null);
}

/** As servers say it of a build that had begun. */
function failed({ namespace, uuid }: RunningBuild, collection: Built, reason: string): CommandError {
  const which = `Collection ${namespace} ( ${uuidText(collection.uuid.buffer)} )`;
  return new CommandError(
    276,
    'IndexBuildAborted',
    `Index build failed: ${uuidText(uuid.buffer)}: ${which} :: caused by :: ${reason}`,
  );
}

function aborted(reason: string): CommandError {
  return new CommandError(276, 'IndexBuildAborted', `Index build aborted: ${reason}`);
}
