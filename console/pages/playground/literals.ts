/** A JSON value in Python's words. The strings of JSON are strings of Python too. */
export function pythonLiteral(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((each) => pythonLiteral(each, inner))
    : definedEntries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonLiteral(each, inner)}`)
  const [open, close] = isList ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/** A JSON value in JavaScript's words: names without quotes where they may stand so. */
export function nodeLiteral(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((each) => nodeLiteral(each, inner))
    : definedEntries(value).map(([name, each]) => `${nameLiteral(name)}: ${nodeLiteral(each, inner)}`)
  const [open, close] = isList ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

const definedEntries = (value: object) => Object.entries(value).filter(([, each]) => each !== undefined)

/** Quoted, `__proto__` would still set the prototype; in brackets it is a name like any other. */
const nameLiteral = (name: string): string =>
  name === '__proto__' ? '["__proto__"]' : /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
