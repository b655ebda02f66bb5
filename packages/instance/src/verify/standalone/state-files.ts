import { type FileHandle, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { SerialQueue } from '../../async/waiting.js';

/** Bytes read from the disk at a time. */
const readBytes = 256 * 1024;
const newline = 0x0a;

/** A line of a `LineFile`, and where it ends. */
interface Line {
  value: unknown;
  /** Position after it, from which the next read continues. */
  end: number;
}

/**
 * An append-only file of JSON lines, read from its beginning: it may have more lines than fit into memory. An
 * incomplete last line of a killed process does not count.
 */
export class LineFile {
  readonly #writing = new SerialQueue();
  /** Whether the last sync includes everything appended. */
  #synced = true;
  #syncing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly handle: FileHandle,
    private size: number,
  ) {}

  /** Opens or creates a file, readable only by its owner. */
  static async open(path: string): Promise<LineFile> {
    const handle = await open(path, 'a+', 0o600);
    const { size } = await handle.stat();
    const file = new LineFile(handle, size);
    const whole = await file.#wholeLength();
    if (whole < size) await file.truncate(whole);
    return file;
  }

  /** Bytes of all whole lines, including those being written. */
  get length(): number {
    return this.size;
  }

  /** Appends lines, in the order of the calls. */
  async append(values: readonly object[]): Promise<void> {
    if (values.length === 0) return;
    const text = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
    this.size += text.length;
    this.#synced = false;
    await this.#writing.run(() => this.handle.appendFile(text));
  }

  /** Waits until everything is on the disk. */
  sync(): Promise<void> {
    if (!this.#synced) this.#syncing = this.#writing.run(() => this.handle.datasync());
    this.#synced = true;
    return this.#syncing;
  }

  /** Truncates the file to a position. */
  async truncate(length: number): Promise<void> {
    await this.#writing.run(() => this.handle.truncate(length));
    this.size = length;
  }

  /** All lines from a position on, up to the current end of the file. */
  async *lines(from = 0): AsyncGenerator<Line> {
    await this.#writing.run(() => Promise.resolve());
    const end = this.size;
    const chunk = Buffer.alloc(readBytes);
    let rest: Buffer = Buffer.alloc(0);
    for (let position = from; position < end;) {
      const { bytesRead } = await this.handle.read(chunk, 0, Math.min(chunk.length, end - position), position);
      if (bytesRead === 0) return;
      const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      const begin = position - rest.length;
      let at = 0;
      for (let stop = bytes.indexOf(newline); stop >= 0; stop = bytes.indexOf(newline, at)) {
        yield { value: JSON.parse(bytes.toString('utf8', at, stop)) as unknown, end: begin + stop + 1 };
        at = stop + 1;
      }
      rest = Buffer.from(bytes.subarray(at));
      position += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#writing.run(() => this.handle.close());
  }

  /** Length up to the last newline. */
  async #wholeLength(): Promise<number> {
    const chunk = Buffer.alloc(readBytes);
    for (let end = this.size; end > 0;) {
      const begin = Math.max(0, end - chunk.length);
      const { bytesRead } = await this.handle.read(chunk, 0, end - begin, begin);
      const last = chunk.subarray(0, bytesRead).lastIndexOf(newline);
      if (last >= 0) return begin + last + 1;
      end = begin;
    }
    return 0;
  }
}

/** Attempts to take a lock whose owner is gone: two processes may find that at the same time. */
const triesMax = 3;

/**
 * Folders that this process has locked. A lock with its own process id on any other folder was left by an earlier
 * process: in a container all of them have id 1.
 */
const taken = new Set<string>();

/** Prevents two processes of one machine from using the same folder. */
export class FolderLock {
  private constructor(private readonly path: string) {}

  /**
   * Locks a folder; takes over the lock of a killed process.
   * @throws ConvoyError `invalidConfiguration` if a live process has it
   */
  static async take(folder: string): Promise<FolderLock> {
    const path = join(folder, 'lock');
    for (let attempt = 1; ; attempt += 1) {
      try {
        await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 });
        taken.add(path);
        return new FolderLock(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === triesMax) throw error;
        const owner = Number(await readFile(path, 'utf8').catch(() => ''));
        if (owner === process.pid ? taken.has(path) : isAlive(owner)) {
          throw new ConvoyError(
            'invalidConfiguration',
            `Process ${owner} uses the state in ${folder}. Wait for it, or choose another folder.`,
            { cause: error },
          );
        }
        await rm(path, { force: true });
      }
    }
  }

  async release(): Promise<void> {
    taken.delete(this.path);
    await rm(this.path, { force: true });
  }
}

/** Whether a process with this id exists. */
function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
