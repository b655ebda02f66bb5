import { mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RawValue } from '../../bson/scan.js';
import type { Mismatch, Suspect } from '../compare/check-again.js';
import {
  type ComparedCollection,
  type ComparisonPartition,
  type ComparisonPlan,
  readPlan,
  type RecordedPlan,
  writePlan,
} from './comparison-plan.js';
import {
  type JournalEntry,
  parseJournalEntry,
  type PartStats,
  restoreSuspect,
  type StoredSuspect,
  storeSuspect,
  type SuspectOrigin,
} from './comparison-journal.js';
import { FolderLock, LineFile } from './state-files.js';
import { describeMismatch, type DescribedMismatch, describeSuspect } from './described-mismatch.js';
import { textOfValue, valueOfText } from '../../bson/sent-value.js';

/** Attempts of one run are numbered within this. */
const attemptsPerRun = 2 ** 20;

/** Names of the files of a state. */
const stateFiles = /^(?:plan\.json(?:\.new)?|(?:journal|mismatches|suspects-\d+)\.ndjson)$/;

/** What a comparison has read and found so far, in this run and earlier ones. */
export interface ComparisonTotals extends PartStats {
  mismatches: number;
  /** Differed once and were equal at a later check. */
  agreed: number;
}

/** The result of checking some suspects. */
interface RecordedLook {
  /** Those that remain. */
  suspects: readonly StoredSuspect[];
  mismatches: readonly { collection: number; mismatch: Mismatch }[];
  /** How many `_id`s were equal, and how many are proven different. */
  agreed: number;
  proven: number;
}

/** Progress of the later checks. */
interface GenerationState {
  number: number;
  /** Position in the suspects of the previous generation. */
  offset: number;
}

/**
 * The durable state of a comparison in its own folder: the plan, a journal of the steps, the suspects of each
 * generation and the mismatches. Nothing that grows with the number of documents or differences is in memory. Another
 * process finds what was finished, and compares only the rest.
 */
export class ComparisonState implements AsyncDisposable {
  readonly pending = new Map<number, ComparisonPartition>();
  readonly totals: ComparisonTotals = {
    sourceDocuments: 0,
    destinationDocuments: 0,
    bytes: 0,
    suspects: 0,
    mismatches: 0,
    agreed: 0,
  };
  readonly generation: GenerationState = { number: 0, offset: 0 };
  #recorded: RecordedPlan | null = null;
  #run = 0;
  #attempts = 0;
  #nextPartition = 0;
  /** The attempt whose suspects count, by partition. */
  readonly #attemptOf = new Map<number, number>();
  #lengths = { suspects: 0, mismatches: 0 };

  private constructor(
    private readonly folder: string,
    private readonly lock: FolderLock,
    private readonly journal: LineFile,
    private readonly mismatchFile: LineFile,
    /** Suspects by generation; the last two. */
    private readonly suspectFiles: Map<number, Promise<LineFile>>,
  ) {}

  /**
   * Opens the state in a folder; creates the folder if it is missing.
   * @throws ConvoyError `invalidConfiguration` if another process is using it
   */
  static async open(folder: string): Promise<ComparisonState> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lock = await FolderLock.take(folder);
    const [journal, mismatches] = [
      await LineFile.open(join(folder, 'journal.ndjson')),
      await LineFile.open(join(folder, 'mismatches.ndjson')),
    ];
    const state = new ComparisonState(folder, lock, journal, mismatches, new Map());
    await state.#restore();
    return state;
  }

  /** Null before the plan. */
  get plan(): ComparisonPlan | null {
    return this.#recorded?.plan ?? null;
  }

  /** What the plan was made for; null before the plan. */
  get identity(): string | null {
    return this.#recorded?.identity ?? null;
  }

  /** When the comparison was started, milliseconds since 1970. */
  get started_ms(): number {
    return this.#recorded?.started_ms ?? 0;
  }

  /** Processes that have worked on it, including this one. */
  get runs(): number {
    return this.#run;
  }

  /** Records what to compare. */
  async begin(identity: string, started_ms: number, plan: ComparisonPlan): Promise<void> {
    const recorded = { identity, started_ms, plan };
    await writePlan(join(this.folder, 'plan.json'), recorded);
    this.#adopt(recorded);
  }

  collection(number: number): ComparedCollection {
    const collection = this.plan?.collections[number];
    if (collection === undefined) throw new Error(`the plan has no collection ${number}`);
    return collection;
  }

  /** A number for another attempt to compare a partition. */
  nextAttempt(): number {
    this.#attempts += 1;
    return this.#run * attemptsPerRun + this.#attempts;
  }

  /** Adds suspects of the first generation; they count once their partition is done in the same attempt. */
  async addSuspects(origin: SuspectOrigin, suspects: readonly Suspect[]): Promise<void> {
    const file = await this.#suspectFile(0);
    await file.append(suspects.map((suspect) => storeSuspect(origin, suspect)));
  }

  /** Records that a partition was compared to its end. */
  async finish(partition: ComparisonPartition, attempt: number, stats: PartStats): Promise<void> {
    await this.#syncSuspects(stats);
    await this.#record({ step: 'done', partition: partition.number, attempt, stats });
  }

  /** Records that everything of a partition below a bound was compared. @returns the rest */
  async split(
    partition: ComparisonPartition,
    attempt: number,
    stats: PartStats,
    bound: RawValue,
  ): Promise<ComparisonPartition> {
    await this.#syncSuspects(stats);
    const rest = { ...partition, number: this.#nextPartition, lower: bound };
    await this.#record({
      step: 'split',
      partition: partition.number,
      attempt,
      stats,
      bound: textOfValue(bound),
      rest: rest.number,
    });
    return rest;
  }

  /** The suspects of a generation from a position on, each with the position after it. */
  async *suspects(generation: number, from: number): AsyncGenerator<{ suspect: StoredSuspect; end: number }> {
    const file = await this.#suspectFile(generation);
    for await (const { value, end } of file.lines(from)) {
      const suspect = restoreSuspect(value);
      if (generation > 0 || this.#attemptOf.get(suspect.partition) === suspect.attempt) yield { suspect, end };
    }
  }

  /** Records the check of the previous generation's suspects up to a position. */
  async recordLook(offset: number, look: RecordedLook): Promise<void> {
    const file = await this.#suspectFile(this.generation.number);
    await file.append(look.suspects.map((suspect) => storeSuspect(suspect, suspect)));
    await this.mismatchFile.append(
      look.mismatches.map(({ collection, mismatch }) => describeMismatch(this.collection(collection), mismatch)),
    );
    await Promise.all([file.sync(), this.mismatchFile.sync()]);
    await this.#record({
      step: 'look',
      generation: this.generation.number,
      offset,
      suspectsLength: file.length,
      mismatchesLength: this.mismatchFile.length,
      suspects: this.totals.suspects - look.agreed - look.proven,
      mismatches: this.totals.mismatches + look.mismatches.length,
      agreed: this.totals.agreed + look.agreed,
    });
  }

  /** Starts the next generation; its suspects are those of the current one that remain. */
  async nextGeneration(): Promise<void> {
    await this.#record({ step: 'generation', generation: this.generation.number + 1 });
    await this.#forgetSuspects(this.generation.number - 2);
  }

  /** All proven mismatches so far. */
  async *mismatches(): AsyncGenerator<DescribedMismatch> {
    for await (const { value } of this.mismatchFile.lines()) yield value as DescribedMismatch;
  }

  /** What differed at the latest check of the current generation, and is not proven. */
  async *undecided(now_ms: number): AsyncGenerator<DescribedMismatch> {
    for await (const { suspect } of this.suspects(this.generation.number, 0))
      yield describeSuspect(this.collection(suspect.collection), suspect, now_ms);
  }

  /** Removes the state from the disk. Other files in the folder stay. */
  static async remove(folder: string): Promise<void> {
    const lock = await FolderLock.take(folder);
    for (const name of await readdir(folder)) if (stateFiles.test(name)) await rm(join(folder, name), { force: true });
    await lock.release();
    await rmdir(folder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    });
  }

  /** Releases the folder; its content stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of [this.journal, this.mismatchFile, ...(await Promise.all(this.suspectFiles.values()))])
      await file.close();
    await this.lock.release();
  }

  async #restore(): Promise<void> {
    const recorded = await readPlan(join(this.folder, 'plan.json'));
    if (recorded === null) await this.journal.truncate(0);
    else this.#adopt(recorded);
    for await (const { value } of this.journal.lines()) this.#apply(parseJournalEntry(value));
    // Whatever follows the last recorded step is written again.
    await this.mismatchFile.truncate(this.#lengths.mismatches);
    if (this.generation.number > 0)
      await (await this.#suspectFile(this.generation.number)).truncate(this.#lengths.suspects);
    else if (recorded === null) await (await this.#suspectFile(0)).truncate(0);
    await this.#record({ step: 'run', run: this.#run + 1 });
    await this.journal.sync();
  }

  #adopt(recorded: RecordedPlan): void {
    this.#recorded = recorded;
    const { partitions } = recorded.plan;
    this.#nextPartition = partitions.length;
    for (const partition of partitions) this.pending.set(partition.number, partition);
  }

  async #record(entry: JournalEntry): Promise<void> {
    this.#apply(entry);
    await this.journal.append([entry]);
  }

  #apply(entry: JournalEntry): void {
    switch (entry.step) {
      case 'run':
        this.#run = entry.run;
        return;
      case 'done':
        this.#applyDone(entry);
        return;
      case 'split': {
        const partition = this.pending.get(entry.partition);
        this.#applyDone(entry);
        if (partition !== undefined)
          this.pending.set(entry.rest, { ...partition, number: entry.rest, lower: valueOfText(entry.bound) });
        this.#nextPartition = Math.max(this.#nextPartition, entry.rest + 1);
        return;
      }
      case 'look':
        this.generation.offset = entry.offset;
        this.#lengths = { suspects: entry.suspectsLength, mismatches: entry.mismatchesLength };
        Object.assign(this.totals, { suspects: entry.suspects, mismatches: entry.mismatches, agreed: entry.agreed });
        return;
      case 'generation':
        Object.assign(this.generation, { number: entry.generation, offset: 0 });
        this.#lengths.suspects = 0;
    }
  }

  #applyDone({ partition, attempt, stats }: Extract<JournalEntry, { stats: PartStats }>): void {
    this.pending.delete(partition);
    this.#attemptOf.set(partition, attempt);
    for (const name of ['sourceDocuments', 'destinationDocuments', 'bytes', 'suspects'] as const)
      this.totals[name] += stats[name];
  }

  /** Several readers ask at the same time: all get the same file. */
  #suspectFile(generation: number): Promise<LineFile> {
    const known = this.suspectFiles.get(generation);
    if (known !== undefined) return known;
    const file = LineFile.open(this.#suspectPath(generation));
    this.suspectFiles.set(generation, file);
    return file;
  }

  async #syncSuspects({ suspects }: PartStats): Promise<void> {
    if (suspects > 0) await (await this.#suspectFile(0)).sync();
  }

  async #forgetSuspects(generation: number): Promise<void> {
    await (await this.suspectFiles.get(generation))?.close();
    this.suspectFiles.delete(generation);
    await rm(this.#suspectPath(generation), { force: true });
  }

  #suspectPath(generation: number): string {
    return join(this.folder, `suspects-${generation}.ndjson`);
  }
}
