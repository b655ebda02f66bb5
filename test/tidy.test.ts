import { errorTable } from '@convoy/api/errors/table';
import { describe, expect, test } from 'vitest';
import { readModules, readText, trackedFiles, writableMembers, type Module } from './source-tree.js';

const modules = readModules();
const sources = modules.filter(({ path }) => /^packages\/[a-z]+\/src\//.test(path));

/** Packages that the sources of a package may import. */
const packageArrows: Readonly<Record<string, readonly string[]>> = {
  api: [],
  simulator: [],
  testbed: ['simulator'],
  probes: ['api'],
  instance: ['api', 'probes'],
  coordinator: ['api'],
  cli: ['api', 'probes', 'instance', 'coordinator', 'simulator', 'testbed'],
  bench: ['api', 'probes', 'instance', 'coordinator', 'simulator', 'testbed', 'cli'],
};

/** Stages that data passes: none knows another one. */
const stages = ['copy', 'apply', 'reread', 'ddl', 'verify'];
/** What stages are built on; these never import them. */
const foundations = ['store', 'cluster', 'catalog', 'bson', 'async'];
/** The lowest layer: these import no folder. */
const lowest = ['bson', 'async'];
/** Who may compose stages. */
const composers = ['lifecycle', 'process'];

/** The layers of lifecycle, lowest first: a file imports its own and lower ones. */
const lifecycleLayers = ['migration', 'task', 'leader', 'instance'];

/** Folders that serve development alone: neither published nor in the image. */
const leftOut = ['packages/bench', 'packages/testbed/src/browser'];

const linesMax = 500;
const columnsMax = 120;
/** Files whose layout another program decides. */
const generated: readonly string[] = [];
/** Tests that force another type on a value, how often, and what for; those of the simulator are not checked. */
const forcing: Readonly<Record<string, number>> = {
  // The errors of the language for a wrong type.
  'packages/instance/test/unit/logging/error-text.test.ts': 2,
  // A reply of a simulated server.
  'e2e/soak/soak-client.ts': 1,
};
const forbiddenNames = /^(utils?|helpers?|common|misc|index)$/;

describe('layers', () => {
  test('packages import only lower ones', () => {
    const wrong = arrows(sources, packageOf).filter(({ from, to }) => !packageArrows[from]?.includes(to));
    expect(wrong.map(describeArrow)).toEqual([]);
  });

  test('every package has its rule', () => {
    expect(Object.keys(packageArrows).sort()).toEqual([...new Set(sources.map(({ path }) => packageOf(path)))].sort());
  });

  test('stages of an instance do not import each other, and only lifecycle and process compose them', () => {
    const wrong = arrows(instanceSources(), folderOf).filter(
      ({ from, to }) => stages.includes(to) && !composers.includes(from),
    );
    expect(wrong.map(describeArrow)).toEqual([]);
  });

  test('foundations do not import lifecycle and process, and the lowest ones import no folder', () => {
    const wrong = arrows(instanceSources(), folderOf).filter(
      ({ from, to }) => lowest.includes(from) || (foundations.includes(from) && composers.includes(to)),
    );
    expect(wrong.map(describeArrow)).toEqual([]);
  });

  test('of the probes the engine imports their names alone, in the checks before a start', () => {
    const crossing = arrows(sources, packageOf).filter(({ from, to }) => from === 'instance' && to === 'probes');
    expect(crossing.map(describeArrow)).toEqual([
      'packages/instance/src/preflight/check-clusters.ts imports packages/probes/src/recorded-releases.ts',
    ]);
  });

  test('layers of lifecycle do not import higher ones', () => {
    const own = instanceSources().filter(({ path }) => folderOf(path) === 'lifecycle');
    const inside = own.map((module) => ({
      ...module,
      imports: { ...module.imports, path: module.imports.path.filter((path) => folderOf(path) === 'lifecycle') },
    }));
    const wrong = arrows(inside, layerOf).filter(
      ({ from, to }) => lifecycleLayers.indexOf(to) > lifecycleLayers.indexOf(from),
    );
    expect(wrong.map(describeArrow)).toEqual([]);
    expect([...new Set(own.map(({ path }) => layerOf(path)))].sort()).toEqual([...lifecycleLayers].sort());
  });

  test('no module imports itself through others', () => {
    expect(cycles()).toEqual([]);
  });

  test('every import leads to a module', () => {
    const paths = new Set(modules.map(({ path }) => path));
    const wrong = modules.flatMap(({ path, imports }) =>
      imports.path.filter((to) => !paths.has(to) && !to.includes('/dist/')).map((to) => `${path} imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('state', () => {
  test('of a partition changes by its own methods: the compiler refuses assignments from outside', () => {
    expect(writableMembers('packages/instance/src/store/partition.ts')).toEqual([]);
  });
});

describe('errors', () => {
  test('all occur: a module beside their table names each', () => {
    const texts = sources.filter(({ path }) => !path.startsWith('packages/api/src/errors/')).map(({ path }) => path);
    const words = new Set(texts.flatMap((path) => readText(path).match(/\b[a-z]\w+\b/g) ?? []));
    expect(Object.keys(errorTable).filter((name) => !words.has(name))).toEqual([]);
  });
});

describe('files', () => {
  test(`have at most ${linesMax} lines`, () => {
    expect(modules.filter(({ lines }) => lines > linesMax).map(({ path, lines }) => `${path}: ${lines} lines`)).toEqual(
      [],
    );
  });

  test(`have lines of at most ${columnsMax} columns`, () => {
    const scripts = trackedFiles().filter((path) => isScript(path));
    expect(scripts.flatMap(wideLinesOf)).toEqual([]);
  });

  test('and folders have names that say what is in them', () => {
    const named = trackedFiles().filter((path) =>
      path.split('/').some((part) => forbiddenNames.test(part.replace(/(\.test)?\.[a-z]+$/, ''))),
    );
    expect(named).toEqual([]);
  });

  test('do not use the type any', () => {
    expect(modules.flatMap(({ path, anys }) => anys.map((line) => `${path}:${line}`))).toEqual([]);
  });

  test('of tests force no type on a value: what a fake lacks has to show', () => {
    const tests = modules.filter(({ path }) => /^(packages\/(?!simulator\/)[a-z]+\/test|e2e|test)\//.test(path));
    const found = tests.map(({ path, forced }) => [path, forced.length] as const).filter(([, count]) => count > 0);
    expect(Object.fromEntries(found)).toEqual(forcing);
  });

  test('name no path of a machine and no registry', () => {
    // In pieces, so that this file does not find itself.
    const forbidden = new RegExp(
      [
        ['/wo', 'rk/'],
        ['/ro', 'ot/'],
        ['registry', '.npmjs'],
        ['_auth', 'Token'],
      ]
        .map((pieces) => pieces.join('').replace('.', '\\.'))
        .join('|'),
    );
    const wrong = trackedFiles().filter((path) => forbidden.test(readText(path)));
    expect(wrong).toEqual([]);
  });
});

describe('dependencies', () => {
  test('of sources are declared in their package', () => {
    const wrong = sources.flatMap((module) => {
      // An optional one is loaded only when it is asked for, and is not part of the image.
      const declared = declaredBy(`packages/${packageOf(module.path)}/package.json`, [
        'dependencies',
        'optionalDependencies',
        'peerDependencies',
        ...(isLeftOut(module.path) ? (['devDependencies'] as const) : []),
      ]);
      return externals(module)
        .filter((name) => !declared.has(name))
        .map((name) => `${module.path} imports ${name}`);
    });
    expect(wrong).toEqual([]);
  });

  test('of what is left out of the image are used nowhere else', () => {
    const arrowsIn = arrows(sources, (path) => (isLeftOut(path) ? 'left out' : 'kept'));
    expect(arrowsIn.filter(({ to }) => to === 'left out').map(describeArrow)).toEqual([]);
    const script = readText('scripts/build-image.sh');
    expect(leftOut.filter((folder) => !script.includes(folder.replace('/src/', '/dist/')))).toEqual([]);
  });

  test('of tests and scripts are declared in their package or at the root', () => {
    const atRoot = declaredBy('package.json', ['devDependencies']);
    const others = modules.filter((module) => !sources.includes(module));
    const tracked = new Set(trackedFiles());
    const wrong = others.flatMap((module) => {
      const [top = '', name = ''] = module.path.split('/');
      const folder = top === 'packages' ? `packages/${name}` : top;
      const own = tracked.has(`${folder}/package.json`)
        ? declaredBy(`${folder}/package.json`, ['dependencies', 'devDependencies'])
        : new Set<string>();
      return module.imports.external
        .filter((used) => !own.has(used) && !atRoot.has(used))
        .map((used) => `${module.path} imports ${used}`);
    });
    expect(wrong).toEqual([]);
  });
});

/** Whether a module of the sources serves development alone. */
function isLeftOut(path: string): boolean {
  return leftOut.some((folder) => path.startsWith(`${folder}/`));
}

function isScript(path: string): boolean {
  return /\.(ts|mjs|js)$/.test(path) && !generated.includes(path);
}

/** Lines of a file that are too wide, each with its place. */
function wideLinesOf(path: string): string[] {
  const widths = readText(path)
    .split('\n')
    .map(({ length }) => length);
  return widths.flatMap((width, index) => (width > columnsMax ? [`${path}:${index + 1}: ${width} columns`] : []));
}

interface Arrow {
  from: string;
  to: string;
  module: string;
  target: string;
}

/** Imports that lead from one group to another. */
function arrows(of: readonly Module[], groupOf: (path: string) => string): Arrow[] {
  return of.flatMap(({ path, imports }) =>
    imports.path
      .map((target) => ({ from: groupOf(path), to: groupOf(target), module: path, target }))
      .filter(({ from, to }) => from !== to),
  );
}

function describeArrow({ module, target }: Arrow): string {
  return `${module} imports ${target}`;
}

function packageOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** `catalog` of `packages/instance/src/catalog/namespace.ts`; modules of other packages count as `@api` and so on. */
function folderOf(path: string): string {
  const [, name, , folder = ''] = path.split('/');
  return name === 'instance' ? folder : `@${name ?? ''}`;
}

/** `task` of `packages/instance/src/lifecycle/task/sync-pipeline.ts`; empty for files beside the layers. */
function layerOf(path: string): string {
  const parts = path.split('/').slice(4);
  return parts.length > 1 ? (parts[0] ?? '') : '';
}

function instanceSources(): Module[] {
  const own = (path: string) => path.startsWith('packages/instance/src/');
  return sources
    .filter(({ path }) => own(path))
    .map((module) => ({ ...module, imports: { ...module.imports, path: module.imports.path.filter(own) } }));
}

/** Packages that a module imports, other workspace packages included. */
function externals({ path, imports }: Module): string[] {
  const workspace = imports.path.map(packageOf).filter((name) => name !== packageOf(path));
  return [...imports.external, ...workspace.map((name) => `@convoy/${name}`)];
}

type DependencyField = 'dependencies' | 'devDependencies' | 'optionalDependencies' | 'peerDependencies';

function declaredBy(manifest: string, fields: readonly DependencyField[]): Set<string> {
  const parsed = JSON.parse(readText(manifest)) as Partial<Record<DependencyField, Record<string, string>>>;
  return new Set(fields.flatMap((field) => Object.keys(parsed[field] ?? {})));
}

/** Every cycle of imports that are there at run time, each as the modules along it, found by walking in depth. */
function cycles(): string[] {
  const byPath = new Map(modules.map((module) => [module.path, module]));
  const found: string[] = [];
  const finished = new Set<string>();
  const walk = (path: string, trail: string[]): void => {
    const begin = trail.indexOf(path);
    if (begin >= 0) found.push([...trail.slice(begin), path].join(' → '));
    if (begin >= 0 || finished.has(path)) return;
    for (const next of byPath.get(path)?.imports.loaded ?? []) walk(next, [...trail, path]);
    finished.add(path);
  };
  for (const { path } of modules) walk(path, []);
  return found;
}
