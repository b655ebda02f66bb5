import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forgetFolder, reapFolder } from './reaper.js';

/** A new folder for logs and data of child processes; removed with this process unless `keep` was called. */
export class ScratchFolder implements Disposable {
  private kept = false;

  private constructor(readonly path: string) {}

  static create(name: string): ScratchFolder {
    const path = mkdtempSync(join(tmpdir(), `convoy-${name}-`));
    reapFolder(path);
    return new ScratchFolder(path);
  }

  /** Path of a file in it. */
  file(name: string): string {
    return join(this.path, name);
  }

  /** Keeps the folder, for reading the logs. */
  keep(): void {
    this.kept = true;
    forgetFolder(this.path);
  }

  [Symbol.dispose](): void {
    if (this.kept) return;
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
    forgetFolder(this.path);
  }
}
