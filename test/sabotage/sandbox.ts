import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../source-tree.js';
import type { Sabotage } from './hazard.js';
import { snippetPlaces } from './snippet.js';

/** Files that tests read, without compiled ones: tests import the sources. */
const copied = [
  'packages',
  'e2e',
  'test',
  'docs',
  'scripts',
  'package.json',
  'vitest.config.ts',
  'tsconfig.json',
  'tsconfig.base.json',
  'tsconfig.test.json',
];
const leftOut = /\/(node_modules|dist|\.cache)(\/|$)/;

/** A test run that was just killed may still have made a file. */
const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

/** A copy of the repository with editable sources; it links to the dependencies of the original. */
export class Sandbox {
  readonly folder = mkdtempSync(join(tmpdir(), 'convoy-sabotage-'));
  readonly #onExit = (): void => rmSync(this.folder, removal);

  constructor() {
    process.once('exit', this.#onExit);
    for (const name of copied)
      cpSync(join(root, name), join(this.folder, name), {
        recursive: true,
        filter: (path) => !leftOut.test(path.slice(root.length - 1)),
      });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** Runs an action while the sabotage is in the sources of the copy. */
  async sabotaged<T>(sabotage: Sabotage, action: () => Promise<T>): Promise<T> {
    const file = join(this.folder, sabotage.file);
    const before = readFileSync(file, 'utf8');
    const [place = { from: 0, to: 0 }] = snippetPlaces(before, sabotage.find);
    writeFileSync(file, before.slice(0, place.from) + sabotage.replace + before.slice(place.to));
    try {
      return await action();
    } finally {
      writeFileSync(file, before);
    }
  }

  remove(): void {
    process.off('exit', this.#onExit);
    this.#onExit();
  }
}
