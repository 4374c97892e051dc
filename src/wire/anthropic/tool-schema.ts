import { type Fields, isObject } from '../../lib/is-object.ts'

/** The input of a tool is always an object, whose schema says so at its top and has no choices there. */
export function toolSchema(parameters: Fields | undefined): Fields {
  const { $schema, anyOf, oneOf, allOf, required: own, ...schema } = parameters ?? {}
  const all = [{ ...schema, required: own }, ...variantsIn(allOf)]
  const choices = [...variantsIn(anyOf), ...variantsIn(oneOf)]
  const properties = Object.fromEntries(
    [...all, ...choices].flatMap((variant) => Object.entries(propertiesOf(variant))),
  )
  const required = [...new Set([...all.flatMap(requiredOf), ...requiredInEach(choices)])]
  return { ...schema, type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

const variantsIn = (variants: unknown): Fields[] => (Array.isArray(variants) ? variants.filter(isObject) : [])
const propertiesOf = ({ properties }: Fields): Fields => (isObject(properties) ? properties : {})
const requiredOf = ({ required }: Fields): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []

/** Of several choices only what all of them want can be wanted. */
function requiredInEach([first, ...others]: readonly Fields[]): string[] {
  const wanted = others.map((other) => new Set(requiredOf(other)))
  return first ? requiredOf(first).filter((name) => wanted.every((names) => names.has(name))) : []
}
