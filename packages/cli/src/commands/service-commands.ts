import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { ContractClient } from '@convoy/api/client/contract-client';
import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetLogRecord } from '@convoy/api/contract/log-record';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { StartRequest, StartRequestBody } from '@convoy/api/contract/start-request';
import { logLine } from '@convoy/coordinator/dashboard/views/log-view';
import { optionViews } from '@convoy/coordinator/dashboard/views/options-view';
import { reportPage } from '@convoy/coordinator/report/report-page';
import { JsonLinesView } from '../progress-view/live-view.js';
import type { ShownProgress } from '../progress-view/progress-lines.js';
import { interruption } from './interruption.js';
import { addJson, type JsonOption } from './json-output.js';
import { addProgressCommand } from './progress-command.js';
import { clientOf, fromCoordinator, serviceCommand, type ServiceOptions } from './service.js';
import { addStartOptions, startBody, type StartOptions } from './start-options.js';
import { type Acceptance, addWait, endAccepted, type WaitOptions, watchUntil } from './wait.js';

/** Adds the commands that start, control and watch a migration through its service. */
export function addServiceCommands(program: Command): void {
  addStart(program);
  for (const simple of simpleCommands) addSimple(program, simple);
  addProgressCommand(program);
  addJson(
    serviceCommand(program, 'watch', 'show the progress until the migration is committed'),
    'print each changed progress as a line of JSON',
  ).action(async (options: ServiceOptions & JsonOption) => {
    const view = options.json ? { view: new JsonLinesView(process.stdout) } : {};
    await watchUntil(clientOf(options), 'COMMITTED', ({ state }) => state === 'COMMITTED', view);
  });
  addLogs(program);
  addReport(program);
}

const startAcceptance: Acceptance = {
  then: 'Started. Follow it with: convoy watch',
  what: 'a commit is possible',
  until: ({ canCommit, state }) => canCommit || state === 'COMMITTED',
};

/** Adds `convoy start`: starts a migration, and prints its options. */
function addStart(program: Command): void {
  const command = addStartOptions(serviceCommand(program, 'start', 'start a migration'));
  addJson(addWait(command, startAcceptance.what)).action(
    async (options: ServiceOptions & StartOptions & WaitOptions & JsonOption) => {
      const body = startBody(options);
      const request = parseStartRequest(body);
      const client = clientOf(options);
      const reply = await client.start(body);
      const lines = [`Accepted at ${options.url}, with these options:`, ...optionLines(body, request)];
      if (!options.json) for (const line of [...lines, ...waitingLines('start', reply.waitingFor)]) console.log(line);
      await endAccepted(client, reply, startAcceptance, options);
    },
  );
}

/** The options of a start as text, one per line: the given ones and the defaults. */
export function optionLines(given: StartRequestBody, whole: StartRequest): string[] {
  const views = optionViews(whole);
  const width = Math.max(...views.map(({ name }) => name.length));
  return views.map(({ name, value }) => `  ${name.padEnd(width)}  ${value}${name in given ? '' : ' (default)'}`);
}

interface SimpleCommand extends Acceptance {
  name: 'pause' | 'resume' | 'commit' | 'reverse';
  description: string;
}

const simpleCommands: readonly SimpleCommand[] = [
  {
    name: 'pause',
    description: 'pause the migration',
    then: 'Paused. Continue with: convoy resume',
    what: 'all instances are PAUSED',
    until: ({ state }) => state === 'PAUSED',
  },
  {
    name: 'resume',
    description: 'resume a paused migration',
    then: 'Running again. Follow it with: convoy watch',
    what: 'no instance is PAUSED',
    until: (progress) => ['RUNNING', 'REVERSING'].includes(progress.state) && !isPausedInPart(progress),
  },
  {
    name: 'commit',
    description: 'commit the migration: the destination takes over',
    then: 'The commit has started. Write to the destination once canWrite is true: convoy watch',
    what: 'the destination accepts writes',
    until: ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true,
  },
  {
    name: 'reverse',
    description: 'swap source and destination of a committed migration',
    then: 'Reversing. Follow it with: convoy watch',
    what: 'a commit is possible again',
    until: ({ state, canCommit }) => state !== 'COMMITTED' && canCommit,
  },
];

/** A fleet of RUNNING and PAUSED instances is RUNNING; one that is away resumes later. */
function isPausedInPart({ instances, waitingFor }: ShownProgress): boolean {
  return (
    (instances ?? []).some(({ state }) => state === 'PAUSED') ||
    (waitingFor ?? []).some(({ command }) => command === 'resume')
  );
}

function addSimple(program: Command, { name, description, ...acceptance }: SimpleCommand): void {
  addJson(addWait(serviceCommand(program, name, description), acceptance.what)).action(
    async (options: ServiceOptions & WaitOptions & JsonOption) => {
      const client = clientOf(options);
      const reply = await client[name]();
      if (!options.json) for (const line of waitingLines(name, reply.waitingFor)) console.log(line);
      await endAccepted(client, reply, acceptance, options);
    },
  );
}

/** Lines after an accepted command: the instances that have not taken it. None when all have. */
function waitingLines(command: CommandName, waitingFor: readonly string[] = []): string[] {
  if (waitingFor.length === 0) return [];
  return [
    `WAITING for ${waitingFor.join(', ')} to ${command}. The command is recorded:`,
    'each takes it by itself once it runs. Start the processes that are missing;',
    'convoy progress says why each has not taken it.',
  ];
}

interface ReportOptions extends ServiceOptions {
  output: string;
  json?: boolean;
}

/** Adds `convoy report`. */
function addReport(program: Command): void {
  serviceCommand(program, 'report', 'write a report of the migration: an HTML file, or JSON')
    .option('--output <file>', 'HTML file to write', 'convoy-report.html')
    .option('--json', 'print JSON instead')
    .action(async (options: ReportOptions) => {
      const report = await fromCoordinator(options.url, 'report', clientOf(options).report());
      if (options.json) {
        console.log(JSON.stringify(report, null, 2));
        return;
      }
      writeFileSync(options.output, reportPage(report));
      console.log(`${report.verdict.text}\nThe report is in ${options.output}.`);
    });
}

/** Interval of questions for new records. */
const follow_ms = 1_000;

interface LogsOptions extends ServiceOptions {
  follow?: boolean;
  json?: boolean;
}

/** Adds the command that prints the last warnings and errors of all processes. */
function addLogs(program: Command): void {
  serviceCommand(program, 'logs', 'print the last warnings and errors of all processes')
    .option('--follow', 'continue with new ones until interrupted')
    .option('--json', 'print one JSON object per line')
    .action(async (options: LogsOptions) => {
      const client = clientOf(options);
      const text = options.json ? (record: FleetLogRecord) => JSON.stringify(record) : logLine;
      const print = (records: readonly FleetLogRecord[]): void => {
        for (const record of records) console.log(text(record));
      };
      const first = await fromCoordinator(options.url, 'logs', client.logs());
      print(first);
      if (options.follow) await followLogs(client, first, print);
      else if (first.length === 0 && !options.json) console.log('No warnings or errors.');
    });
}

/** Asks again and again, also while a coordinator restarts. The last reply has all records that there are. */
async function followLogs(
  client: ContractClient,
  first: readonly FleetLogRecord[],
  print: (records: readonly FleetLogRecord[]) => void,
): Promise<void> {
  const signal = interruption();
  let known = new Set(first.map(({ id }) => id));
  while (!signal.aborted) {
    await sleep(follow_ms, undefined, { signal }).catch(() => undefined);
    const records = await client.logs({ signal }).catch(() => null);
    if (records === null) continue;
    print(records.filter(({ id }) => !known.has(id)));
    known = new Set(records.map(({ id }) => id));
  }
}
