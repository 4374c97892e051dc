import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Fields, isObject } from '../../src/lib/types.ts'
import { createSchemaChecker, type SchemaFinding } from './json-schema.ts'

const BESIDE_THE_CHECKOUT = fileURLToPath(new URL('../../../shared/data/openresponses-openapi.json', import.meta.url))

/** What the published document of Open Responses says of what we write. */
export interface OpenResponses {
  checkResponse(response: unknown): OpenFinding[]
  checkEvent(event: unknown): OpenFinding[]
  /** What `POST /v1/responses/compact` answers. */
  checkCompaction(compacted: unknown): OpenFinding[]
}

export interface OpenFinding extends SchemaFinding {
  /** The name of the known difference that explains it; undefined for an unknown one. */
  readonly difference: string | undefined
}

interface KnownDifference {
  readonly name: string
  readonly reason: string
  explains(finding: SchemaFinding): boolean
}

const typeOf = ({ value }: SchemaFinding): string => (isObject(value) ? String(value.type) : '')

/** Where we differ from the document and mean it. `docs/protocols/responses-differences.md` tells the same to people. */
export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: 'response.reasoning_text.*',
    reason: 'The document calls these events `response.reasoning.*`; the clients of OpenAI know only this name.',
    explains: (finding) => finding.place === '' && /^response\.reasoning_text\.(delta|done)$/.test(typeOf(finding)),
  },
  {
    name: 'response.custom_tool_call_input.*',
    reason: 'The document has no custom tools; coding agents cannot work without them.',
    explains: (finding) =>
      finding.place === '' && /^response\.custom_tool_call_input\.(delta|done)$/.test(typeOf(finding)),
  },
  {
    name: 'custom_tool_call',
    reason: 'The item of a custom tool, as above: as a `function_call` its client would not run it.',
    explains: (finding) => /(^|\/)(item|output\/\d+)$/.test(finding.place) && typeOf(finding) === 'custom_tool_call',
  },
  {
    name: 'tools',
    reason: 'Custom tools and namespaces are repeated as the client sent them; the document has functions alone.',
    explains: (finding) => /(^|\/)tools\/\d+$/.test(finding.place) && ['custom', 'namespace'].includes(typeOf(finding)),
  },
  {
    name: 'tool_choice',
    reason: 'A choice may name a custom tool.',
    explains: ({ place }) => /(^|\/)tool_choice(\/tools\/\d+(\/type)?)?$/.test(place),
  },
  {
    name: 'text.format.schema',
    reason: 'The schema is repeated, as OpenAI does; the document wants null in its place.',
    explains: ({ place }) => /(^|\/)text\/format\/schema$/.test(place),
  },
  {
    name: 'reasoning.effort',
    reason: 'Efforts are what the catalogue says of a model; the document has a closed list of them.',
    explains: ({ place }) => /(^|\/)reasoning\/effort$/.test(place),
  },
]

/** Undefined where the document is not there: it is not ours to ship, so it lies beside the checkout on some machines. */
export function openResponses({ quietly = false } = {}): OpenResponses | undefined {
  const path = process.env.MILLRACE_OPEN_RESPONSES ?? BESIDE_THE_CHECKOUT
  if (!existsSync(path)) {
    if (!quietly)
      console.info(`Not checked: there is no ${path} (MILLRACE_OPEN_RESPONSES names another copy of the document).`)
    return undefined
  }
  return readOpenResponses(JSON.parse(readFileSync(path, 'utf8')))
}

function readOpenResponses(document: Fields): OpenResponses {
  const checker = createSchemaChecker(document)
  const check = (path: string, kind: string) => {
    const schema = inside(document, 'paths', path, 'post', 'responses', '200', 'content', kind, 'schema')
    return (value: unknown) => checker.check(schema, value).map(explained)
  }
  return {
    checkResponse: check('/responses', 'application/json'),
    checkEvent: check('/responses', 'text/event-stream'),
    checkCompaction: check('/responses/compact', 'application/json'),
  }
}

function inside(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((holder, name) => (isObject(holder) ? holder[name] : undefined), value)
}

const explained = (finding: SchemaFinding): OpenFinding => ({
  ...finding,
  difference: KNOWN_DIFFERENCES.find((known) => known.explains(finding))?.name,
})
