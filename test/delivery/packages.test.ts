import { describe, expect, test } from 'vitest';
import { readText, trackedFiles } from '../source-tree.js';

interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  description?: string;
  keywords?: string[];
  license?: string;
  repository?: { type: string; directory: string };
  engines?: { node: string };
  files?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const root = manifestOf('package.json');
const folders = trackedFiles()
  .filter((path) => /^packages\/[a-z]+\/package\.json$/.test(path))
  .map((path) => path.replace('/package.json', ''));

function manifestOf(path: string): Manifest {
  return JSON.parse(readText(path)) as Manifest;
}

describe.each(folders.filter((folder) => manifestOf(`${folder}/package.json`).private !== true))(
  '%s can be published',
  (folder) => {
    const manifest = manifestOf(`${folder}/package.json`);

    test('and says what it is, for which Node.js, under which licence, and where its sources are', () => {
      expect(manifest).toMatchObject({
        license: 'Apache-2.0',
        repository: { type: 'git', directory: folder },
        engines: root.engines,
      });
      expect(manifest.private).toBeUndefined();
      expect(manifest.description).toMatch(/MongoDB.*\.$/);
      expect(manifest.keywords).toContain('mongodb');
      expect(readText(`${folder}/LICENSE`)).toBe(readText('LICENSE'));
      expect(readText(`${folder}/README.md`)).toMatch(new RegExp(`^# ${manifest.name}\n`));
      if (manifest.files?.includes('NOTICE')) expect(readText(`${folder}/NOTICE`)).toBe(readText('NOTICE'));
    });

    test('and has the version of all others, which it names exactly', () => {
      expect(manifest.version).toBe(root.version);
      const own = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(([name]) =>
        name.startsWith('@convoy/'),
      );
      expect(own.filter(([, version]) => version !== root.version)).toEqual([]);
    });
  },
);

test('the Helm chart has the version of the packages', () => {
  const chart = readText('charts/convoy/Chart.yaml');
  expect(chart).toContain(`\nversion: ${root.version}\n`);
  expect(chart).toContain(`\nappVersion: ${root.version}\n`);
});
