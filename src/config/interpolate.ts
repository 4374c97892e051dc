import { resolve } from 'node:path'
import type { Environment, FileReader } from './files.ts'
import { isSecretPath, type LocatedNode, type LocatedScalar } from './parse-yaml.ts'
import { type ConfigPath, type ConfigProblem, formatPath } from './problem.ts'

interface InterpolationSources {
  readonly environment: Environment
  readonly readFile: FileReader
  /** Relative `${file:…}` start here: the folder of the configuration. */
  readonly folder: string
}

/** `$${` stands for itself; `${NAME}`, `${NAME:-default}` and `${file:/path}` for what they name. */
const REFERENCE = /\$\$\{|\$\{([^{}]*)\}/g

/** A new tree in which every `${…}` stands for its value. One that stands for nothing is a problem. */
export function interpolate(
  sources: InterpolationSources,
  root: LocatedNode,
): { tree: LocatedNode; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = []
  const visit = (node: LocatedNode, path: ConfigPath): LocatedNode => {
    switch (node.kind) {
      case 'scalar':
        return replaceIn(sources, node, path, problems)
      case 'list':
        return { ...node, items: node.items.map((item, index) => visit(item, [...path, index])) }
      case 'map': {
        const entries = [...node.entries].map(
          ([key, entry]) => [key, { ...entry, node: visit(entry.node, [...path, key]) }] as const,
        )
        return { ...node, entries: new Map(entries) }
      }
    }
  }
  return { tree: visit(root, []), problems }
}

function replaceIn(
  sources: InterpolationSources,
  node: LocatedScalar,
  path: ConfigPath,
  problems: ConfigProblem[],
): LocatedScalar {
  if (typeof node.value !== 'string' || !node.value.includes('${')) return node
  const value = node.value.replace(REFERENCE, (whole, reference: string | undefined) => {
    if (reference === undefined) return '${'
    const found = resolveReference(sources, reference)
    if (found.kind === 'value') return found.value
    // Who writes a credential between the braces instead of its variable shall not read it again.
    const message = found.kind === 'malformed' && isSecretPath(path) ? 'this is not a reference' : found.message
    problems.push({ place: node.place, path: formatPath(path), message, cure: found.cure })
    return whole
  })
  return { ...node, value }
}

type ResolvedReference =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'problem' | 'malformed'; readonly message: string; readonly cure: string }

function resolveReference(sources: InterpolationSources, reference: string): ResolvedReference {
  if (reference.startsWith('file:')) return readSecretFile(sources, reference.slice('file:'.length))
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(reference)
  if (match === null) {
    return {
      kind: 'malformed',
      message: `\${${reference.slice(0, 60)}} is not a reference`,
      cure: `Write \${NAME}, \${NAME:-default} or \${file:/path}; for a plain \${ write $\${.`,
    }
  }
  const [, name = '', fallback] = match
  const value = sources.environment[name]
  // As in a shell, `:-` also stands in for a variable that is set to nothing.
  if (fallback !== undefined) return { kind: 'value', value: value || fallback }
  if (value !== undefined) return { kind: 'value', value }
  return {
    kind: 'problem',
    message: `environment variable ${name} is not set`,
    cure: `Set it, or give a default: \${${name}:-}`,
  }
}

function readSecretFile({ readFile, folder }: InterpolationSources, named: string): ResolvedReference {
  const path = resolve(folder, named)
  const file = readFile(path)
  switch (file.kind) {
    case 'text':
      // Editors and `echo` end a file with a line break that is no part of the secret.
      return { kind: 'value', value: file.text.replace(/\r?\n$/, '') }
    case 'missing':
      return { kind: 'problem', message: `there is no file ${path}`, cure: `Make it, or name another: \${file:/path}.` }
    case 'unreadable':
      return { kind: 'problem', message: `the file ${path} cannot be read: ${file.reason}`, cure: 'Mend its rights.' }
  }
}
