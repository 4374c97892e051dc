import { describe, expect, it } from 'vitest'
import { mergeRequests } from './merge-requests.ts'

/** `7` has ended, `7r` is running. The number is the start order. */
const rows = (...names: string[]) =>
  names.map((name) => ({
    id: name.replace('r', ''),
    state: name.endsWith('r') ? 'open' : 'settled',
    opened_at: `2026-11-22T10:00:0${name[0]}.000Z`,
  }))
const newest = (names: string[], next: string | null = 'more') => ({ items: rows(...names), next })

describe('the newest requests merged with the loaded ones', () => {
  it('are one list without duplicates', () => {
    expect(mergeRequests(newest(['5', '4', '3']), rows('4', '3', '2', '1'))).toEqual({
      rows: rows('5', '4', '3', '2', '1'),
      gap: false,
    })
  })

  it('are sorted by start, so that a request keeps its place when it ends', () => {
    const before = mergeRequests(newest(['5r', '3r', '4', '2']), rows('5r', '3r', '4', '2', '1')).rows
    expect(before).toEqual(rows('5r', '4', '3r', '2', '1'))
    expect(mergeRequests(newest(['5r', '3', '4', '2']), rows('5r', '3r', '4', '2', '1')).rows).toEqual(
      rows('5r', '4', '3', '2', '1'),
    )
  })

  it('drop requests that are no longer running or listed', () => {
    expect(mergeRequests(newest(['5', '3']), rows('5', '4r', '3', '2')).rows).toEqual(rows('5', '3', '2'))
    expect(mergeRequests(newest(['5r'], null), rows('5r', '4r')).rows).toEqual(rows('5r'))
    expect(mergeRequests(newest([], null), rows('1')).rows).toEqual([])
  })

  it('keep running requests that did not fit on the newest page', () => {
    expect(mergeRequests(newest(['9r', '8r']), rows('8r', '7r', '6'))).toEqual({
      rows: rows('9r', '8r', '7r', '6'),
      gap: false,
    })
  })

  it('report a gap', () => {
    expect(mergeRequests(newest(['9', '8']), rows('3', '2'))).toEqual({ rows: rows('9', '8'), gap: true })
    const runsOn = mergeRequests(newest(['1r', '9', '8']), rows('1r', '3', '2'))
    expect(runsOn, 'a running request is in both lists').toEqual({
      rows: rows('9', '8', '1r'),
      gap: true,
    })
  })

  it('are the loaded ones until the newest arrive, with the later of two duplicates', () => {
    expect(mergeRequests(undefined, rows('2', '1'))).toEqual({ rows: rows('2', '1'), gap: false })
    expect(mergeRequests(undefined, rows('3r', '2r', '3', '1')).rows.map(({ id }) => id)).toEqual(['3', '2', '1'])
  })
})
