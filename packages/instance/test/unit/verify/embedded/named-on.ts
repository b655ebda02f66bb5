import { namespaceOf } from '../../../../src/catalog/namespace.js';
import type { Namespace } from '../../../../src/cluster/namespace.js';
import type { VerifiedCollection } from '../../../../src/verify/embedded/verified-collection.js';

/** A collection with the same name on both sides. */
export function namedOn(namespace: Namespace): Pick<VerifiedCollection, 'namespace' | 'on'> {
  return { namespace: namespaceOf(namespace), on: { source: namespace, destination: namespace } };
}
