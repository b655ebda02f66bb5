import type { DocumentCommand } from './document-commands.js';

/** A command that `e2e/document-commands.test.ts` does not run. What is Convoy's of it is parsed all the same. */
interface NotWalked extends DocumentCommand {
  /** Why not. */
  reason: string;
  /** The test or script that runs it, or as much of it as can be run, by its path. */
  runBy?: string;
}

const cluster = 'needs a Kubernetes cluster; the chart is rendered and compared';
const services = 'writes to the system and its service manager; the units are analysed';
const registry = 'installs a published release';

export const notWalked: readonly NotWalked[] = [
  ...at('README.md', 'takes longer', [
    ['npm run demo', 'e2e/demo.test.ts'],
    ['npm test', '.github/workflows/ci.yml'],
  ]),
  ...at('README.md', 'needs real servers', [
    ['MONGO_BIN=/usr/bin npm run demo', 'e2e/demo.test.ts'],
    ['MONGO_IMAGE=mongo:8.0 npm run demo', 'e2e/demo.test.ts'],
  ]),
  ...at('README.md', 'writes until somebody ends it; the walk has data of its own', [
    [
      'convoy demo --load mongodb://127.0.0.1:27100/ --documents 50000',
      'packages/cli/test/integration/demo/loader.test.ts',
    ],
  ]),
  ...at('site/home.md', 'takes longer', [['npm run demo', 'e2e/demo.test.ts']]),
  ...at('charts/convoy/README.md', cluster, [
    ['kubectl create namespace convoy', 'test/delivery/chart.test.ts'],
    [
      'kubectl --namespace convoy create secret generic convoy-clusters --from-file=cluster0=source.txt ' +
        '--from-file=cluster1=destination.txt --from-file=token=token.txt',
      'test/delivery/chart.test.ts',
    ],
    ['helm install convoy charts/convoy --namespace convoy --values values.yaml', 'test/delivery/chart.test.ts'],
  ]),
  ...at('deploy/systemd/README.md', services, [
    ['cd /opt/convoy && scripts/build-image.sh', 'Dockerfile'],
    ['install -d -m 0755 /etc/convoy'],
    ['install -m 0600 /dev/null /etc/convoy/instance.json'],
    ['install -m 0600 /dev/null /etc/convoy/coordinator.json'],
    ['cp deploy/systemd/*.service /etc/systemd/system/'],
    ['systemctl daemon-reload'],
    [
      'systemctl enable --now convoy-coordinator convoy-instance@shard0 convoy-instance@shard1',
      'test/delivery/systemd-units.test.ts',
    ],
    ['CONVOY_PORT=27183', 'test/delivery/systemd-units.test.ts'],
    ['/opt/convoy/node_modules/.bin/convoy check --config /etc/convoy/instance.json'],
    ['read -rs CONVOY_TOKEN && export CONVOY_TOKEN'],
    ['/opt/convoy/node_modules/.bin/convoy start'],
    ["journalctl --follow --unit 'convoy-*'"],
  ]),
  ...at('docs/reference/command-line.md', 'lasts too long, or needs another shell', [
    ['export PATH="$PWD/node_modules/.bin:$PATH"', 'e2e/document-commands.test.ts'],
    ['convoy probe --cluster cluster0 --config convoy.yaml', 'packages/cli/test/integration/commands/probe.test.ts'],
    ['source <(convoy completion zsh)', 'packages/cli/test/unit/commands/completion-command.test.ts'],
    ['convoy completion fish | source', 'packages/cli/test/unit/commands/completion-command.test.ts'],
  ]),
  ...at('docs/guide/before.md', 'lasts too long', [
    [
      'convoy probe --cluster mongodb://… --record probes.jsonl',
      'packages/cli/test/integration/commands/probe.test.ts',
    ],
  ]),
  ...at('packages/cli/README.md', registry, [
    ['npx @convoy/cli demo', 'scripts/packages/check.mjs'],
    ['npm install --global @convoy/cli', 'scripts/packages/check.mjs'],
  ]),
  ...at('packages/coordinator/README.md', registry, [
    ['npx @convoy/cli coordinator --redis redis://127.0.0.1:6379', 'scripts/packages/check.mjs'],
  ]),
  ...at('packages/instance/README.md', registry, [['npx @convoy/cli instance --help', 'scripts/packages/check.mjs']]),
  ...at('packages/probes/README.md', registry, [
    ['npx @convoy/cli probe --help', 'packages/cli/test/integration/commands/probe.test.ts'],
  ]),
  ...at('packages/simulator/README.md', registry, [['npx @convoy/simulator --shards 3 --port 27117 --version 7.0']]),
];

function at(page: string, reason: string, commands: readonly (readonly [string, string?])[]): NotWalked[] {
  return commands.map(([command, runBy]) => ({ page, command, reason, ...(runBy !== undefined && { runBy }) }));
}
