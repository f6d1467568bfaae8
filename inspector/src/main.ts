import { mount } from 'svelte'
import './app.css'
import { keepToken } from './api'
import App from './App.svelte'

keepToken()
mount(App, { target: document.getElementById('app')! })
