/**
 * A value with some members of its type, for a test of what needs no others: whoever reads another one gets an error
 * that names it. Optional members count as missing, too: data with such members has builders that fill it.
 */
export function only<T extends object>(members: Partial<T>): T {
  return new Proxy(members, {
    get: (given, name, proxy: unknown): unknown => {
      // Promises and assertions ask every value for these.
      const isAsked = typeof name === 'symbol' || name === 'then' || name === 'toJSON' || name === 'constructor';
      if (!isAsked && !(name in given)) throw new Error(`the test gives no ${name}`);
      return Reflect.get(given, name, proxy);
    },
  }) as T;
}
