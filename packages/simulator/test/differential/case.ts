import type { Json, Step } from '../conformance/corpus-file.js';
import type { Random } from './random.js';

/** A command of a case; a step of the corpus without what was answered. */
export interface Command extends Pick<Step, 'unordered'> {
  readonly on: 'router' | 'router1' | 'shard0' | 'shard1' | 'config';
  readonly db: string;
  /** The user who asks, in families about access; the others ask clusters that have no users. */
  readonly who?: string;
  /** In extended JSON, with references to other steps as the corpus has them. */
  readonly command: Json;
  /** Of a `getMore` of a stream: it is repeated until an event of the document with this `_id` has come. */
  readonly until?: number;
}

/** A command that brings the fixture back to its beginning. */
export interface Reset extends Command {
  /** Commands of which the case before must have asked one, for this to be needed; undefined: it always is. */
  readonly onlyAfter?: readonly string[];
}

/** Commands that are played in turn, each under a number that references name. */
export type Numbered = Command & Pick<Step, 'file' | 'step'>;

/** Commands of one kind that both clusters are asked. */
export interface Family {
  readonly name: string;
  /** True for clusters with access control, where `root` exists. */
  readonly access?: true;
  /** Made once; begins by dropping what an earlier run has left. */
  readonly fixture: readonly Command[];
  /** Brings the fixture back to its beginning, before every case. */
  readonly reset: readonly Reset[];
  /** The commands of one case, drawn. */
  commands(random: Random): Command[];
}

/** Gives commands the numbers 1, 2, … by which references name them. */
export function numbered(commands: readonly Command[]): Numbered[] {
  return commands.map((command, index) => ({ file: 'differential', step: index + 1, ...command }));
}
