import { expect, it } from 'vitest'
import { ignoredFieldsHeader } from './call-lane.ts'

it('names what changes the answer before the items of an input, of which there may be many', () => {
  const items = Array.from({ length: 40 }, (_, at) => `input.${at}.web_search_call`)
  const { 'x-millrace-ignored-fields': delivered } = ignoredFieldsHeader([...items, 'temperature', 'text.verbosity'], {
    bytes: Buffer.from('{}'),
    members: [],
  })
  expect(delivered?.split(', ').slice(0, 3)).toEqual(['temperature', 'text.verbosity', 'input.0.web_search_call'])
  expect(delivered?.split(', ')).toHaveLength(32)
})
