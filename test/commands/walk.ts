import type { DocumentCommand } from './document-commands.js';

/** A command of a document that `e2e/document-commands.test.ts` runs, and how it has to end. */
export interface Step extends DocumentCommand {
  /** What it prints, on either output. */
  prints: RegExp;
  /** Its exit code; 0 when there is none. */
  code?: number;
}

const readme = (command: string, prints: RegExp, code?: number): Step => step('README.md', command, prints, code);
const before = (command: string, prints: RegExp, code?: number): Step =>
  step('docs/guide/before.md', command, prints, code);
const during = (command: string, prints: RegExp, code?: number): Step =>
  step('docs/guide/during.md', command, prints, code);
const after = (command: string, prints: RegExp, code?: number): Step =>
  step('docs/guide/after.md', command, prints, code);
const commandLine = (command: string, prints: RegExp, code?: number): Step =>
  step('docs/reference/command-line.md', command, prints, code);

/** Of the runbook, which names its commands in the text. */
const cutOver = (command: string, prints: RegExp): Step => step('docs/guide/cut-over.md', command, prints);

function step(page: string, command: string, prints: RegExp, code = 0): Step {
  return { page, command, prints, code };
}

const listens = /"event":"(?:listening|coordinatorStarted)"/;

/**
 * The commands of README and docs in the order in which a reader gives them, against one fleet. Each group needs what
 * the one before it has brought about.
 */
export const walk = {
  /** Processes that stay. */
  clusters: [
    readme('simulator --shards 2 --port 27100', /"connectionString"/),
    readme('simulator --shards 2 --port 27200', /"connectionString"/),
    readme("redis-server --save ''", /Ready to accept connections/),
  ],
  /** Before any process of Convoy runs. */
  preparation: [
    step('packages/cli/README.md', 'convoy check --config convoy.json', /A migration can start/),
    before('convoy check --cluster0 mongodb://… --cluster1 mongodb://…', /A migration can start/),
    during('convoy notify --config coordinator.json', /^pager: accepted \(HTTP 204\)$/m),
    commandLine('source <(convoy completion bash)', /^$/),
  ],
  /** Processes that stay. */
  fleet: [
    readme('convoy instance --config convoy.json --id shard0 --port 27182', listens),
    readme('convoy instance --config convoy.json --id shard1 --port 27183', listens),
    readme('convoy coordinator --redis redis://127.0.0.1:6379', listens),
  ],
  /** While the fleet is IDLE; the last one waits until a commit would be accepted. */
  start: [
    during('curl http://127.0.0.1:27180/api/v1/source', /"database":"shop"/),
    during(
      `curl -X POST http://127.0.0.1:27180/api/v1/check -d '{"source":"cluster0","destination":"cluster1"}'`,
      /"canStart":true/,
    ),
    during(
      `curl -X POST http://127.0.0.1:27182/api/v1/start -d '{"source":"cluster0","destination":"cluster1"}'`,
      /"success":true/,
    ),
    readme('convoy start --wait', /Next: Stop the writers of the source, then run convoy commit/),
  ],
  /** While it syncs. A fleet starts once: later starts reach it, and it refuses them. */
  sync: [
    readme(
      'for port in 27182 27183; do\n  curl -X POST http://127.0.0.1:$port/api/v1/start ' +
        `-d '{"source":"cluster0","destination":"cluster1"}'\ndone`,
      /"error":"notInThisState".*"error":"notInThisState"/s,
    ),
    during('convoy start', /^notInThisState: /, 1),
    commandLine('convoy start --include shop --include crm.contacts --exclude shop.tmp', /^notInThisState: /, 1),
    commandLine(
      `convoy start --include '[{"databaseRegex": {"pattern": "^shop_"}}]' --exclude @exclude.json`,
      /^notInThisState: /,
      1,
    ),
    commandLine(
      'convoy start --options-file start.json --reversible --enable-user-write-blocking',
      /^notInThisState: /,
      1,
    ),
    commandLine('convoy progress --token-file /run/secrets/token', /^RUNNING .*Next: Stop the writers/s),
    during(`curl 'http://127.0.0.1:27182/api/v1/verification/mismatches?kind=different&limit=100'`, /^$/),
    readme('convoy commit --wait', /Next: Point the writers at the destination/),
  ],
  /** After the commit. */
  comparison: [
    cutOver('convoy report --output migration.html', /migration\.html/),
    after(
      'convoy verify --source mongodb://… --destination mongodb://… --report report.md --mismatches mismatches.ndjson',
      /^EQUAL: /,
    ),
    commandLine(
      'convoy verify --cluster0-file /run/secrets/cluster0 --cluster1-file /run/secrets/cluster1',
      /^EQUAL: /,
    ),
  ],
  /** Once the fleet is stopped. A cleanup asks at a terminal, and there is none. */
  end: [
    after(
      'convoy cleanup --cluster0 mongodb://… --cluster1 mongodb://… --destination cluster1',
      /Drop all collections of convoy_metadata on cluster1\.[\s\S]*Run it with --yes/,
      1,
    ),
    cutOver('convoy cleanup --config convoy.json --yes', /Drop all collections of convoy_metadata on cluster1/),
  ],
} as const satisfies Record<string, readonly Step[]>;
