import { root } from './process.mjs';

/**
 * Plays the recorded corpus against the simulator's sources and prints how much is equal; the last line is
 * `conformance: N of M steps equal`.
 * @param {string[]} args files of the corpus; `--show` prints both outcomes of what differs
 * @returns {Promise<number>} exit code: 1 when fewer steps are equal than are known to be
 */
export async function runConformance(args) {
  const { createViteServer } = await import('vitest/node');
  const loader = await createViteServer({
    root,
    configFile: false,
    logLevel: 'error',
    appType: 'custom',
    server: { middlewareMode: true, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
  });
  try {
    const conformance = await loader.ssrLoadModule('/packages/simulator/test/conformance/run.ts');
    return await conformance.runConformance(args);
  } finally {
    await loader.close();
  }
}
