/** The page's address as state, and data that is read whenever what it depends on changes. */

import { get, type Overview, type Params, type Start } from './api'

class Route {
  #hash = $state(location.hash)
  page = $derived(/^#\/(\w+)/.exec(this.#hash)?.[1] ?? 'memories')
  params = $derived(new URLSearchParams(this.#hash.split('?')[1] ?? ''))

  constructor() {
    addEventListener('hashchange', () => (this.#hash = location.hash))
  }

  get(name: string): string {
    return this.params.get(name) ?? ''
  }

  all(name: string): string[] {
    return this.params.getAll(name)
  }

  /** The address of a page of the same bank. */
  to(page: string, params: Params = {}): string {
    const search = new URLSearchParams()
    if (session.bank) search.set('bank', session.bank)
    return `#/${page}?${merged(search, params)}`
  }

  /** The present address with other values of some parameters; an empty value removes one. */
  with(params: Params): string {
    return `#/${this.page}?${merged(new URLSearchParams(this.params), params)}`
  }

  set(params: Params): void {
    history.replaceState(null, '', this.with(params))
    this.#hash = location.hash
  }
}

function merged(search: URLSearchParams, params: Params): string {
  for (const [name, value] of Object.entries(params)) {
    search.delete(name)
    if (Array.isArray(value)) for (const each of value) search.append(name, each)
    else if (value !== undefined && value !== null && value !== '' && value !== false) search.set(name, String(value))
  }
  return search.toString()
}

class Session {
  start = $state<Start>()
  overview = $state<Overview>()
  error = $state('')
  /** Raised by each write, so that what is shown is read again. */
  writes = $state(0)

  get bank(): string {
    return route.get('bank') || this.start?.banks[0]?.name || ''
  }

  get write(): boolean {
    return this.start?.write ?? false
  }

  async open(): Promise<void> {
    try {
      this.start = await get<Start>('start')
    } catch (error) {
      this.error = (error as Error).message
    }
  }
}

export const route: Route = new Route()
export const session: Session = new Session()

/** Data of the server, read again when anything that `read` looks at before its first await changes. */
export class Resource<T> {
  data = $state.raw<T>()
  error = $state('')
  loading = $state(false)

  constructor(read: (signal: AbortSignal) => Promise<T> | undefined) {
    $effect(() => {
      const control = new AbortController()
      void session.writes
      const reading = read(control.signal)
      if (!reading) return
      this.loading = true
      reading
        .then(
          (data) => {
            if (!control.signal.aborted) [this.data, this.error] = [data, '']
          },
          (error: Error) => {
            if (!control.signal.aborted) [this.data, this.error] = [undefined, error.message]
          },
        )
        .finally(() => {
          if (!control.signal.aborted) this.loading = false
        })
      return () => control.abort()
    })
  }
}

const number = new Intl.NumberFormat('en')
export const count = (value: number): string => number.format(value)
export const memories = (value: number): string => `${count(value)} ${value === 1 ? 'memory' : 'memories'}`

/** A day as in the ledger, in UTC: 2024-05-31. */
export const day = (moment: string | null | undefined): string => moment?.slice(0, 10) ?? ''
export const minute = (moment: string): string => moment.slice(0, 16).replace('T', ' ')

const DAY = 86_400_000

/** When a memory happened, at its precision, or when it was mentioned. */
export function when(memory: { occurred_start: string | null; occurred_end: string | null; mentioned_at: string }): string {
  if (!memory.occurred_start || !memory.occurred_end) return `said ${day(memory.mentioned_at)}`
  const start = day(memory.occurred_start)
  const last = new Date(Date.parse(memory.occurred_end) - 1).toISOString().slice(0, 10)
  if (start === last) return start
  const days = (Date.parse(memory.occurred_end) - Date.parse(memory.occurred_start)) / DAY
  if (start.endsWith('-01-01') && days >= 365 && days <= 366) return start.slice(0, 4)
  if (start.endsWith('-01') && days >= 28 && days <= 31) return start.slice(0, 7)
  return `${start} – ${last}`
}
