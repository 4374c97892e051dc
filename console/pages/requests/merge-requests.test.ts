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

describe('the newest requests and those that were loaded before', () => {
  it('are one list without anything twice', () => {
    expect(mergeRequests(newest(['5', '4', '3']), rows('4', '3', '2', '1'))).toEqual({
      rows: rows('5', '4', '3', '2', '1'),
      gap: false,
    })
  })

  it('stand in the order in which they began, so that one which ends keeps its place', () => {
    const before = mergeRequests(newest(['5r', '3r', '4', '2']), rows('5r', '3r', '4', '2', '1')).rows
    expect(before).toEqual(rows('5r', '4', '3r', '2', '1'))
    expect(mergeRequests(newest(['5r', '3', '4', '2']), rows('5r', '3r', '4', '2', '1')).rows).toEqual(
      rows('5r', '4', '3', '2', '1'),
    )
  })

  it('lose what runs no more and has gone out of the list', () => {
    expect(mergeRequests(newest(['5', '3']), rows('5', '4r', '3', '2')).rows).toEqual(rows('5', '3', '2'))
    expect(mergeRequests(newest(['5r'], null), rows('5r', '4r')).rows).toEqual(rows('5r'))
    expect(mergeRequests(newest([], null), rows('1')).rows).toEqual([])
  })

  it('keep those that run and did not fit on the newest page', () => {
    expect(mergeRequests(newest(['9r', '8r']), rows('8r', '7r', '6'))).toEqual({
      rows: rows('9r', '8r', '7r', '6'),
      gap: false,
    })
  })

  it('say so when something between them is missing', () => {
    expect(mergeRequests(newest(['9', '8']), rows('3', '2'))).toEqual({ rows: rows('9', '8'), gap: true })
    const runsOn = mergeRequests(newest(['1r', '9', '8']), rows('1r', '3', '2'))
    expect(runsOn, 'one that runs on is in both, whatever has ended meanwhile').toEqual({
      rows: rows('9', '8', '1r'),
      gap: true,
    })
  })

  it('are what was loaded while the newest are not known, with the later word of what was told twice', () => {
    expect(mergeRequests(undefined, rows('2', '1'))).toEqual({ rows: rows('2', '1'), gap: false })
    expect(mergeRequests(undefined, rows('3r', '2r', '3', '1')).rows.map(({ id }) => id)).toEqual(['3', '2', '1'])
  })
})
