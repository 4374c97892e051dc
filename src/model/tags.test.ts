import { expect, it } from 'vitest'
import { isTag, readTags, tagsOf, withJobTags } from './tags.ts'

it('reads names and values, in the order of their names, and ignores empty parts', () => {
  expect(readTags('repo=millrace, branch=feature/x=1,,')).toEqual({
    kind: 'tags',
    tags: '["branch:feature/x=1","repo:millrace"]',
  })
  expect(readTags(' , ')).toEqual({ kind: 'tags', tags: undefined })
})

it.each([
  ['repo', '"repo" has no `=`'],
  ['=x', '"" is not a name'],
  ['Repo=x', '"Repo" is not a name'],
  [`${'a'.repeat(33)}=x`, 'is not a name'],
  ['repo=', 'the value of `repo` is not 1 to 64 visible ASCII characters'],
  [`repo=${'x'.repeat(65)}`, 'the value of `repo`'],
  ['repo="x"', 'the value of `repo`'],
  ['repo=a b', 'the value of `repo`'],
  ['repo=ü', 'the value of `repo`'],
  ['repo=a,repo=b', '`repo` is given twice'],
  ['a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1', 'more than 8 tags'],
])('says what is wrong with %s', (header, message) => {
  const read = readTags(header)
  expect(read.kind === 'invalid' && read.message).toContain(message)
})

it('names what is wrong in a bounded text', () => {
  const read = readTags('x'.repeat(10_000))
  expect(read.kind === 'invalid' && read.message.length).toBeLessThan(250)
})

it('gives the tags of a receipt by name, and knows a tag of a filter', () => {
  expect(tagsOf('["branch:a:b","repo:millrace"]')).toEqual({ branch: 'a:b', repo: 'millrace' })
  expect(tagsOf(null)).toBeNull()
  expect(['repo:millrace', 'repo:a:b'].every(isTag)).toBe(true)
  expect(['repo', 'repo:', ':x', 'Repo:x', 'repo:a b'].some(isTag)).toBe(false)
})

it('keeps the tags of a job, and adds those that a request may choose', () => {
  const ofJob = '["branch:main","repository:a/b"]'
  expect(withJobTags(undefined, ofJob)).toEqual({ kind: 'tags', tags: ofJob })
  expect(withJobTags(undefined, null)).toEqual({ kind: 'tags', tags: undefined })
  expect(withJobTags('["branch:main","step:lint"]', ofJob)).toEqual({
    kind: 'tags',
    tags: '["branch:main","repository:a/b","step:lint"]',
  })
  expect(withJobTags('["branch:other"]', ofJob)).toMatchObject({
    message: expect.stringContaining('`branch` comes from'),
  })
  const seven = JSON.stringify(Array.from({ length: 7 }, (_, index) => `t${index}:x`))
  expect(withJobTags(seven, ofJob)).toMatchObject({ message: expect.stringContaining('more than 8 tags') })
})
