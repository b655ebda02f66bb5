import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious findings of axe, with their places. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(
    'axe.run(document).then(({violations}) => violations.filter(({impact}) => impact === "serious" || impact ' +
      '=== "critical").map(({id, nodes}) => id + ": " + nodes.map(({target}) => target.join(" ")).slice(0, ' +
      '3).join(", ")))',
  );
}

/** Pixels by which the page is wider than its window; 0 or less when it fits. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
