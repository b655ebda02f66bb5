import { writeFileSync } from 'node:fs';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationReport } from '@convoy/api/contract/migration-report';
import { reportPage } from '@convoy/coordinator/report/report-page';
import type { Command } from 'commander';
import { clientOf, serviceCommand, type ServiceOptions } from './service.js';

interface ReportOptions extends ServiceOptions {
  output: string;
  json?: boolean;
}

/** Adds the command that writes the report of a migration. */
export function addReportCommand(program: Command): void {
  serviceCommand(program, 'report', 'write a report of the migration: an HTML file, or JSON')
    .option('--output <file>', 'HTML file to write', 'convoy-report.html')
    .option('--json', 'print JSON instead')
    .action(async (options: ReportOptions) => {
      const report = await readReport(options);
      if (options.json) {
        console.log(JSON.stringify(report, null, 2));
        return;
      }
      writeFileSync(options.output, reportPage(report));
      console.log(`${report.verdict.text}\nThe report is in ${options.output}.`);
    });
}

async function readReport(options: ServiceOptions): Promise<MigrationReport> {
  try {
    return await clientOf(options).report();
  } catch (error) {
    if (!(error instanceof ConvoyError && error.error === 'unknownPath')) throw error;
    throw new ConvoyError(
      'unknownPath',
      `${options.url} has no report, since only coordinators serve it. Set the coordinator's address.`,
    );
  }
}
