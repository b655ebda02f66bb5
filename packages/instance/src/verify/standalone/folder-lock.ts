import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

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
