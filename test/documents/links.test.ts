import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readText, root, trackedFiles } from '../source-tree.js';

const documents = trackedFiles().filter((path) => path.endsWith('.md'));

/** Targets of a document's links, without those to other sites. */
function linksIn(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** Anchors of a document's headings, as hosting sites make them. */
function anchorsIn(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

describe('links of documents', () => {
  test.each(documents)('%s leads to files and headings that exist', (document) => {
    const wrong = linksIn(readText(document)).filter((target) => {
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? document : posix.join(posix.dirname(document), file);
      if (!existsSync(join(root, path))) return true;
      return anchor !== undefined && !anchorsIn(readText(path)).has(anchor);
    });
    expect(wrong).toEqual([]);
  });
});
