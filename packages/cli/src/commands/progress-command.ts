import { nextStep } from '@convoy/api/contract/next-step';
import { optionViews } from '@convoy/coordinator/dashboard/views/options-view';
import { type NamespaceOrder, namespaceOrders, NAMESPACE_ROWS_MAX } from '@convoy/coordinator/watching/namespaces';
import { Option, type Command } from 'commander';
import { collectionLines } from '../progress-view/collection-lines.js';
import { coloured } from '../progress-view/colours.js';
import { progressBlock, type ShownProgress } from '../progress-view/progress-lines.js';
import { addJson, type JsonOption } from './json-output.js';
import { clientOf, fromCoordinator, readProgress, serviceCommand, type ServiceOptions } from './service.js';

interface ProgressOptions extends ServiceOptions, JsonOption {
  collections?: boolean;
  sort: NamespaceOrder;
  search: string;
}

/** Adds the command that prints the progress once: of the migration, or of its collections. */
export function addProgressCommand(program: Command): void {
  addJson(serviceCommand(program, 'progress', 'print the progress once'))
    .option('--collections', `print the progress per collection, up to ${NAMESPACE_ROWS_MAX}`)
    .addOption(new Option('--sort <order>', 'order of collections').choices(namespaceOrders).default('activity'))
    .option('--search <text>', 'only collections whose name contains this', '')
    .action(async (options: ProgressOptions) => {
      console.log(options.collections ? await collectionsText(options) : await progressText(options));
    });
}

async function collectionsText(options: ProgressOptions): Promise<string> {
  const { url, sort, search, json } = options;
  const query = { sort, search, limit: String(NAMESPACE_ROWS_MAX) };
  const page = await fromCoordinator(url, 'progress per collection', clientOf(options).namespaces(query));
  return json ? JSON.stringify(page) : collectionLines(page).join('\n');
}

async function progressText(options: ProgressOptions): Promise<string> {
  const progress = await readProgress(clientOf(options));
  if (options.json) return JSON.stringify(progress);
  const lines = [...progressBlock(progress), ...optionsLine(progress), `Next: ${nextStep(progress)}`];
  return lines.map((line) => coloured(line)).join('\n');
}

/** The options in force; none before a start. */
function optionsLine({ options }: ShownProgress): string[] {
  const views = optionViews(options);
  return views.length === 0 ? [] : [`options: ${views.map(({ name, value }) => `${name} ${value}`).join(', ')}`];
}
