import { corpusFiles, type CorpusFile, isStep, nameOf, readCorpus, type Step } from './corpus-file.js';
import { excusedSteps } from './excused-steps.js';
import { programme } from './programme.js';
import { type PlayedStep, Replay } from './replay.js';

/**
 * How the steps of one file came out. A file that cannot be played has no played steps; all its steps are different.
 */
export interface FileScore {
  readonly file: CorpusFile;
  readonly steps: number;
  readonly equal: number;
  /** Not equal, and listed with a reason. */
  readonly excused: number;
  readonly different: number;
  readonly played: readonly PlayedStep[];
}

/** Plays the whole corpus; gives the files in their order. */
export async function playCorpus(files: readonly string[] = corpusFiles): Promise<FileScore[]> {
  const scores = new Map<string, FileScore>();
  for (const act of programme) {
    if (!act.files.some((file) => files.includes(file))) continue;
    const stage = await act.open();
    try {
      const replay = new Replay(stage);
      for (const file of act.files) scores.set(file, scoreOf(file, await replay.play(file)));
    } finally {
      await stage.close();
    }
  }
  return corpusFiles.filter((file) => files.includes(file)).map((file) => scores.get(file) ?? scoreOf(file, []));
}

/**
 * Counts the played steps of a file. Every line with a command counts, also commands described in words; notes do not.
 */
export function scoreOf(file: CorpusFile, played: readonly PlayedStep[]): FileScore {
  const steps = readCorpus(file).filter(isStep).length;
  const equal = played.filter((each) => each.differences.length === 0).length;
  const excused = played.filter((each) => each.differences.length > 0 && excuseOf(each.step) !== undefined).length;
  return { file, steps, equal, excused, different: steps - equal - excused, played };
}

/** The reason why a step need not be equal, if it is excused. */
export function excuseOf(step: Step): string | undefined {
  return excusedSteps.find((each) => each.step === nameOf(step))?.reason;
}
