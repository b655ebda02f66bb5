import { type Command, Option } from 'commander';
import type { NamespacesPage } from '@convoy/api/client/contract-client';
import { bothNames } from '@convoy/api/contract/namespace-remap';
import { nextStep } from '@convoy/api/contract/next-step';
import { optionViews } from '@convoy/coordinator/dashboard/views/options-view';
import { hotDocumentText } from '@convoy/coordinator/dashboard/views/progress-texts';
import { bytesText, countText, percentText } from '@convoy/coordinator/dashboard/views/quantity';
import { NAMESPACE_ROWS_MAX, type NamespaceOrder, namespaceOrders } from '@convoy/coordinator/server/namespaces';
import { colouredLines } from '../progress-view/colours.js';
import { progressBlock, type ShownProgress } from '../progress-view/progress-lines.js';
import { interruption } from './interruption.js';
import { addJson, type JsonOption } from './json-output.js';
import { clientOf, fromCoordinator, readProgress, serviceCommand, type ServiceOptions } from './service.js';
import { addSettings, clusterSettings, type Flags, settingFlags, sourcesOf } from './settings.js';

interface ProgressOptions extends ServiceOptions, JsonOption {
  collections?: boolean;
  sort: NamespaceOrder;
  search: string;
  hotDocuments?: boolean;
  destination: string;
}

/** Adds the command that prints the progress once: of the migration, of its collections, or of its hot documents. */
export function addProgressCommand(program: Command): void {
  const command = addJson(serviceCommand(program, 'progress', 'print the progress once'));
  addSettings(command, clusterSettings)
    .option('--collections', `print the progress per collection, up to ${NAMESPACE_ROWS_MAX}`)
    .addOption(new Option('--sort <order>', 'order of collections').choices(namespaceOrders).default('activity'))
    .option('--search <text>', 'only collections whose name contains this', '')
    .option('--hot-documents', 'print the _ids of hot documents, read from the destination itself')
    .option('--destination <cluster>', 'destination of the migration', 'cluster1')
    .action(async (options: ProgressOptions & Flags) => {
      if (options.hotDocuments) console.log(await hotDocumentsText(options));
      else console.log(options.collections ? await collectionsText(options) : await progressText(options));
    });
}

async function collectionsText(options: ProgressOptions): Promise<string> {
  const { url, sort, search, json } = options;
  const query = { sort, search, limit: String(NAMESPACE_ROWS_MAX) };
  const page = await fromCoordinator(url, 'progress per collection', clientOf(options).namespaces(query));
  return json ? JSON.stringify(page) : collectionLines(page).join('\n');
}

/** Needs the credentials of the destination in place of those of the service: an `_id` may be anything. */
async function hotDocumentsText({ destination, json, ...flags }: ProgressOptions & Flags): Promise<string> {
  const { parseInstanceConfig } = await import('@convoy/instance/config/instance-config');
  const { readHotDocuments } = await import('@convoy/instance/lifecycle/task/task-stats');
  const { requireClusterName } = await import('@convoy/instance/lifecycle/migration/clusters');
  const config = parseInstanceConfig(sourcesOf(settingFlags(flags, clusterSettings)));
  const hot = await readHotDocuments(config, requireClusterName(destination), interruption());
  if (json) return JSON.stringify(hot);
  if (hot.length === 0) return 'No document was hot at the last checkpoint.';
  return hot.map((one) => `${hotDocumentText(one)} Its _id is ${JSON.stringify(one._id)}.`).join('\n');
}

async function progressText(options: ProgressOptions): Promise<string> {
  const progress = await readProgress(clientOf(options));
  if (options.json) return JSON.stringify(progress);
  const lines = [...progressBlock(progress), ...optionsLine(progress), `Next: ${nextStep(progress)}`];
  return colouredLines(lines);
}

/** The options in force; none before a start. */
function optionsLine({ options }: ShownProgress): string[] {
  const views = optionViews(options);
  return views.length === 0 ? [] : [`options: ${views.map(({ name, value }) => `${name} ${value}`).join(', ')}`];
}

const columns = ['collection', 'copied', 'of', 'part', 'documents'] as const;

/** The progress per collection as a table: one line each, and how many are not shown. */
export function collectionLines({ total, matching, rows }: NamespacesPage): string[] {
  if (total === 0) return ['No collections yet.'];
  if (rows.length === 0) return [`None of ${countText(total)} collections matches.`];
  const cells = rows.map(({ namespace, destination, copiedBytes, totalBytes, copiedDocuments, partitions }) => [
    bothNames(namespace, destination),
    bytesText(copiedBytes),
    bytesText(totalBytes),
    partText(copiedBytes, totalBytes, partitions.waiting + partitions.starting + partitions.copying === 0),
    countText(copiedDocuments),
  ]);
  const table = [[...columns], ...cells];
  const widths = columns.map((_name, index) => Math.max(...table.map((row) => row[index]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  '),
  );
  return [
    ...lines,
    ...orderLines(rows),
    `${countText(rows.length)} of ${countText(matching)} shown, ${countText(total)} in total.`,
  ];
}

/** Where an option asks for another order than that of `_id`: the order of each collection, and why. */
function orderLines(rows: NamespacesPage['rows']): string[] {
  return rows.flatMap(({ namespace, copyOrders = [] }) =>
    copyOrders.map(({ description }) => `${namespace}: ${description}`),
  );
}

function partText(copiedBytes: number, totalBytes: number, isDone: boolean): string {
  if (isDone) return 'copied';
  return percentText(totalBytes === 0 ? null : Math.min(99.9, (100 * copiedBytes) / totalBytes));
}
