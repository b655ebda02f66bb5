import { Int32, Long } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import type { FailPoint } from '../faults/fail-point.js';

/** A move of a chunk to another shard, as the donor is asked for it. */
export interface DonatedMove {
  readonly namespace: string;
  readonly to: string;
  readonly min: Doc;
  readonly max: Doc;
}

/** A node as its operations name it. */
interface Donor {
  readonly name: string;
  readonly host: string;
  /** Time of the look in ISO 8601. */
  readonly time: string;
}

/** The moves of chunks to other shards that are under way. */
export class DonatedMoves {
  /** Fail point at which moves hang once they have begun. Null where there are no fail points. */
  point: FailPoint | null = null;
  readonly #running = new Set<DonatedMove>();

  /** Shows a move until the returned function is called. */
  begin(move: DonatedMove): () => void {
    this.#running.add(move);
    return () => this.#running.delete(move);
  }

  /** The thread that moves, and the config server's command that it serves, as `$currentOp` of 8.0.10 shows them. */
  shown({ name, host, time }: Donor): Doc[] {
    return [...this.#running].flatMap((move) => [
      doc(
        ['type', 'op'],
        ['host', host],
        ['desc', 'MoveChunk'],
        ['active', false],
        ['currentOpTime', time],
        ['effectiveUsers', [doc(['user', '__system'], ['db', 'local'])]],
        ['isFromUserConnection', false],
        ['opid', new Int32(1)],
        ['op', 'none'],
        ['ns', ''],
        ['redacted', false],
        ['command', doc()],
        ['msg', 'step 4 of 6'],
      ),
      doc(
        ['type', 'op'],
        ['host', host],
        ['desc', 'conn1'],
        ['connectionId', new Int32(1)],
        ['active', true],
        ['currentOpTime', time],
        ['isFromUserConnection', true],
        ['opid', new Int32(1)],
        ['secs_running', Long.fromInt(0)],
        ['op', 'command'],
        ['ns', 'admin.$cmd'],
        ['redacted', false],
        ['command', commandOf(move, name)],
      ),
    ]);
  }

  /** The newest move, as `serverStatus` of 8.0.10 shows it. Undefined without any. */
  get status(): ((donor: string) => Doc) | undefined {
    const move = [...this.#running].at(-1);
    if (move === undefined) return undefined;
    return (donor) =>
      doc(
        ['source', donor],
        ['destination', move.to],
        ['isDonorShard', true],
        ['chunk', doc(['min', move.min], ['max', move.max])],
        ['collection', move.namespace],
      );
  }
}

function commandOf({ namespace, to, min, max }: DonatedMove, from: string): Doc {
  return new Map<string, Value>([
    ['_shardsvrMoveRange', namespace],
    ['toShard', to],
    ['min', min],
    ['max', max],
    ['waitForDelete', false],
    ['fromShard', from],
    ['$db', 'admin'],
  ]);
}
