import { stringify } from 'yaml'
import { MANAGED_LISTS, type ManagedList, type ManagedShape } from '../contract/managed.ts'
import { exportedEntries, type ManagedServices } from './managed.ts'
import { done } from './outcome.ts'

type Exported = Awaited<ReturnType<typeof exportedEntries>>[number]

/** The managed entries as a part of the configuration file. Put there, it gives the same configuration. */
export async function exportManaged(services: Omit<ManagedServices, 'auditLog'>) {
  const entries = await exportedEntries(services)
  return done({ yaml: managedYaml(entries), variables: withVariables(entries).flatMap(variableNames) })
}

export function managedYaml(exported: readonly Exported[]): string {
  const entries = withVariables(exported)
  const variables = entries.flatMap(variableNames)
  const lines = ['# What operators manage beside the configuration file.']
  if (variables.length > 0) lines.push(`# Secrets are not exported. Set these variables: ${variables.join(', ')}`)
  for (const list of Object.keys(MANAGED_LISTS) as ManagedList[]) {
    const items = entries.filter((each) => each.list === list)
    if (items.length > 0) lines.push(`${list}:`, ...items.flatMap(itemLines))
  }
  return `${lines.join('\n')}\n`
}

interface ExportedItem extends Exported {
  /** By the name of the secret. */
  readonly variables: ReadonlyMap<string, string>
}

const variableNames = ({ variables }: ExportedItem): string[] => [...variables.values()]

/** Two secrets never share a variable: a provider would be sent the key of another. */
function withVariables(entries: readonly Exported[]): ExportedItem[] {
  const taken = new Set<string>()
  return entries.map((each) => {
    const variables = new Map<string, string>()
    for (const secret of each.secrets) {
      const name = variableOf(each.entry, secret)
      let free = name
      for (let number = 2; taken.has(free); number++) free = `${name}_${number}`
      taken.add(free)
      variables.set(secret, free)
    }
    return { ...each, variables }
  })
}

function itemLines({ entry, variables, announced }: ExportedItem): string[] {
  // A quoted text is one line, so that indenting changes none.
  const text = stringify([{ ...(escaped(entry) as ManagedShape), ...placeholders(variables) }], {
    ...{ lineWidth: 0, blockQuote: false },
  })
  // JSON has no line breaks outside of its texts.
  const notes = announced.map(
    ({ from, price }) => `# ${JSON.stringify(entry.id)} has another price from ${from} on: ${JSON.stringify(price)}`,
  )
  return [...notes, ...text.trimEnd().split('\n')].map((line) => `  ${line}`)
}

/** The file replaces `${…}`; an entry has it as it is. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, escaped(child)]))
}

function placeholders(variables: ReadonlyMap<string, string>) {
  const apiKey = variables.get('api_key')
  const headers = [...variables].filter(([name]) => name.startsWith(HEADER))
  return {
    ...(apiKey !== undefined && { api_key: `\${${apiKey}}` }),
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map(([name, variable]) => [name.slice(HEADER.length), `\${${variable}}`])),
    }),
  }
}

const HEADER = 'headers.'

/**
 * `OPENAI_API_KEY` for the api_key of openai, `OPENAI_HEADER_X_ORG` for a header. The words between keep an entry from naming a
 * variable of something else, such as MILLRACE_SECRET_KEY.
 */
const variableOf = ({ id }: ManagedShape, secret: string): string =>
  `${String(id)}_${secret.replace(HEADER, 'header_')}`
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_')
