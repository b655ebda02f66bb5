import { onSupportedNode } from './own-node.mjs';
import { setUp } from './setup.mjs';
import { runNode } from './process.mjs';
import { runTests } from './test.mjs';
import { runAllTests } from './test-all.mjs';
import { runConformance } from './conformance.mjs';
import { runDifferential } from './differential.mjs';
import { runSabotage } from './sabotage.mjs';
import { checkContainers } from './containers/check.mjs';
import { checkPackages } from './packages/check.mjs';
import { release } from './release/release.mjs';

/**
 * What `npm run NAME` starts, and the TypeScript projects it needs compiled (none: all). Each answers with the exit
 * code.
 */
const tasks = {
  demo: { projects: ['packages/cli'], start: (args) => runNode('packages/cli/dist/convoy.js', ['demo', ...args]) },
  bench: { projects: ['packages/bench'], start: (args) => runNode('packages/bench/dist/run.js', args) },
  screenshots: {
    projects: ['packages/bench'],
    start: (args) => runNode('packages/bench/dist/screenshots/run.js', args),
  },
  soak: { projects: ['e2e/soak'], start: (args) => runNode('e2e/soak/dist/run.js', args) },
  test: { projects: [], start: runTests },
  conformance: { projects: ['packages/simulator'], start: runConformance },
  differential: { projects: ['packages/testbed'], start: runDifferential },
  'test-all': { projects: [], start: runAllTests },
  sabotage: { projects: ['packages/api'], start: runSabotage },
  'containers-check': { projects: ['packages/api'], start: checkContainers },
  'mongosh-check': {
    projects: ['packages/simulator'],
    start: (args) => runNode('packages/simulator/test/mongosh/check.mjs', args),
  },
  'monitoring-check': {
    projects: ['packages/cli', 'e2e/monitoring'],
    start: (args) => runNode('e2e/monitoring/dist/monitoring/run.js', args),
  },
  'packages-check': { projects: ['packages/cli'], start: checkPackages },
  release: { projects: ['packages/cli'], start: release },
};

const [name = '', ...args] = process.argv.slice(2);
const task = tasks[name];
if (task === undefined) {
  console.error(`Usage: node scripts/run.mjs ${Object.keys(tasks).join('|')} [arguments]`);
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await onSupportedNode('scripts/run.mjs', [name, ...args], async () => {
      await setUp(task.projects);
      return task.start(args);
    });
  } catch (error) {
    console.error(error.message);
    if (name.startsWith('test')) console.log('0 passed, 1 failed');
    process.exitCode = 1;
  }
}
