import { root } from './process.mjs';

/**
 * Hands a module of the sources, as it is loaded without a build, to an action.
 * @template Answer
 * @param {string} path from the repository's folder on, for example `/test/sabotage/run.ts`
 * @param {(module: Record<string, any>) => Promise<Answer>} action
 * @returns {Promise<Answer>} what the action answers
 */
export async function withSources(path, action) {
  const { createViteServer } = await import('vitest/node');
  const loader = await createViteServer({
    root,
    configFile: false,
    logLevel: 'error',
    appType: 'custom',
    server: { middlewareMode: true, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
    // Node.js of the oldest supported release does not know `using`.
    oxc: { target: 'node20' },
  });
  try {
    return await action(await loader.ssrLoadModule(path));
  } finally {
    await loader.close();
  }
}
