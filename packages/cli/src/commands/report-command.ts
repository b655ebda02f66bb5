import { writeFileSync } from 'node:fs';
import { reportPage } from '@convoy/coordinator/report/report-page';
import type { Command } from 'commander';
import { clientOf, fromCoordinator, serviceCommand, type ServiceOptions } from './service.js';

interface ReportOptions extends ServiceOptions {
  output: string;
  json?: boolean;
}

/** Adds `convoy report`. */
export function addReportCommand(program: Command): void {
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
