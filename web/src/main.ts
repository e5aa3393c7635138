import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { startKeys } from './lib/keys.svelte';
import { startRouter } from './lib/router.svelte';

startRouter();
startKeys();
mount(App, { target: document.getElementById('app')! });
