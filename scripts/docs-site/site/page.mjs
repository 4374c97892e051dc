// The search field of a page.
import { createSearch } from './search.mjs'

const field = document.querySelector('#search')
const list = document.querySelector('#found')
const status = document.querySelector('#found-count')
// Where the site begins, seen from this page.
const site = new URL(document.documentElement.dataset.site, location.href)

let search
/** The index is loaded with the first search. After a failure the next letter tries again. */
const loadSearch = () =>
  (search ??= fetch(new URL('search.json', site))
    .then((response) => response.json())
    .then(createSearch)
    .catch(() => {
      search = undefined
    }))

const EXCERPT = 160
function excerptOf(text, question) {
  const words = question
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word.length > 2)
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0)
  const from = Math.max(0, Math.min(...places, text.length) - 40)
  const start = places.length === 0 ? 0 : from
  return `${start > 0 ? '… ' : ''}${text.slice(start, start + EXCERPT)}${text.length > start + EXCERPT ? ' …' : ''}`
}

function optionOf(section, question, at) {
  const link = document.createElement('a')
  link.href = new URL(section.address, site).href
  link.id = `found-${at}`
  link.setAttribute('role', 'option')
  link.tabIndex = -1
  const name = document.createElement('strong')
  name.textContent = section.heading === section.title ? section.title : `${section.title} › ${section.heading}`
  const excerpt = document.createElement('span')
  excerpt.textContent = excerptOf(section.text, question)
  link.append(name, excerpt)
  return link
}

let chosen = -1
function choose(at) {
  const options = [...list.children]
  chosen = options.length === 0 ? -1 : (at + options.length) % options.length
  for (const [place, option] of options.entries()) option.setAttribute('aria-selected', String(place === chosen))
  field.setAttribute('aria-activedescendant', chosen < 0 ? '' : options[chosen].id)
  options[chosen]?.scrollIntoView({ block: 'nearest' })
}

async function show() {
  const question = field.value.trim()
  const find = question === '' ? undefined : await loadSearch()
  // What was typed meanwhile is searched by its own call.
  if (field.value.trim() !== question) return
  const sections = find?.(question) ?? []
  list.replaceChildren(...sections.map((section, at) => optionOf(section, question, at)))
  list.hidden = sections.length === 0
  field.setAttribute('aria-expanded', String(sections.length > 0))
  status.textContent = question === '' ? '' : sections.length === 0 ? 'Nothing found' : `${sections.length} results`
  status.hidden = question === '' || sections.length > 0
  choose(0)
}

field.addEventListener('input', show)
field.addEventListener('focus', loadSearch, { once: true })
field.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') choose(chosen + 1)
  else if (event.key === 'ArrowUp') choose(chosen - 1)
  else if (event.key === 'Enter') list.children[chosen]?.click()
  else if (event.key === 'Escape') {
    field.value = ''
    show()
  } else return
  event.preventDefault()
})
document.addEventListener('click', (event) => {
  if (!event.target.closest('.search')) list.hidden = true
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, textarea')) return
  event.preventDefault()
  field.focus()
})
