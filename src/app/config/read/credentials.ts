import { hideFromNowOn, hideSecrets } from '../../../lib/secret.ts'
import type { ConfigPath, ConfigProblem } from '../config-problem.ts'
import type { LocatedNode } from './located-tree.ts'

const SECRET_KEYS: ReadonlySet<string | number> = new Set(['api_key', 'secret_key', 'database', 'headers'])

/** Whether what stands there may be a credential: nothing of it is ever repeated. */
export const isSecretPath = (path: ConfigPath): boolean => path.some((step) => SECRET_KEYS.has(step))

/** A name of a variable and nothing more: that may be said, and has to be. */
export const isPlainReference = (text: string): boolean => /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text)

/** Every credential of the file is hidden from now on, also where it stands in a wrong place as well. */
export function hideCredentials(node: LocatedNode, path: ConfigPath = []): void {
  if (node.kind === 'list') for (const [index, item] of node.items.entries()) hideCredentials(item, [...path, index])
  if (node.kind === 'map') for (const [key, entry] of node.entries) hideCredentials(entry.node, [...path, key])
  if (node.kind !== 'scalar' || !isSecretPath(path) || isPlainReference(String(node.value))) return
  hideFromNowOn(node.source)
  hideFromNowOn(String(node.value))
}

/** What is said of the file, fit for a terminal and a log. */
export const withoutCredentials = (problem: ConfigProblem): ConfigProblem => ({
  ...problem,
  message: hideSecrets(problem.message),
  cure: hideSecrets(problem.cure),
})
